"""Knowledge bases: passages of documents, searched by words and meaning."""
