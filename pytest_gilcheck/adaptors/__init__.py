"""The pytest side: the only code here that knows pytest, besides the plugin's entry."""
