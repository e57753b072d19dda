"""One file per screen. A screen joins state (stage, lesson, session) to widgets; it draws nothing."""
