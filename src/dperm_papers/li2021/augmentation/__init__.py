"""li2021-augmentation."""
