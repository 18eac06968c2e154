// The configuration is unpacked when somebody asks for it: its text is longer than the rest of the section.
const details = document.getElementById("config");

async function show() {
  if (!details?.open) return;
  details.removeEventListener("toggle", show);
  document.getElementById("config-text").textContent = await window.dperm.unpack("config");
}

details?.addEventListener("toggle", show);
show();
