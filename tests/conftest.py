"""What all tests share."""

import logging

from hypothesis import settings

# Other work shares the machine, so that one slow example says nothing.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

# Modules of `pages.ui` are called without a running app, which is no news here.
for state in ("scriptrunner_utils.script_run_context", "state.session_state_proxy"):
    logging.getLogger(f"streamlit.runtime.{state}").disabled = True
