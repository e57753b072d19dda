"""The terminal explorer: screens over `engine.inspect`, and the `underhood` command.

Layers, lowest first: render, widgets, views, screens, app. `tui.render` and `tui.views` do not use
Textual, so `underhood show` draws the same pictures without a terminal.
"""
