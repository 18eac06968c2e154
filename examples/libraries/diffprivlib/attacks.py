"""IBM's diffprivlib: its tools, models and mechanisms. It states no neighbouring relation, so both are tried.

Every call has its own accountant (the default one is shared and keeps a record of each) and a `random_state` that
stands on the audit's generator.
"""

from on_mechanisms import MECHANISMS
from on_models import MODELS
from on_tools import TOOLS

PACKAGE = "diffprivlib"
ATTACKS = [*TOOLS, *MODELS, *MECHANISMS]
