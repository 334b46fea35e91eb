"""The commands that make and judge models: train, import, optimize and eval, entry points of `vivavoce`."""
