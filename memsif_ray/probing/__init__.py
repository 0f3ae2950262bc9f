"""Which decisions can a chat model be trusted with? Measured on a small probe set, kept per model.

A decision goes to the model only when it does significantly better than chance *and* no worse than the
model-free counterpart on the same items. A model that nobody has measured is trusted with everything,
which is the paper's setting.
"""

from memsif_ray.probing.lookup import capabilities_for, find_profile, save_profile
from memsif_ray.probing.profile import Profile, settled

__all__ = ["Profile", "capabilities_for", "find_profile", "save_profile", "settled"]
