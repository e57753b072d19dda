"""One file per screen. A screen joins state (navigator, lesson session) to widgets; it draws nothing."""
