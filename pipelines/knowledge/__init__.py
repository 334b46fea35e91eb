"""Knowledge bases: documents read into passages, stored, and searched by words and by meaning."""
