"""The older home of `hub.load_state_dict_from_url`, as `load_url`."""

from engine.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
