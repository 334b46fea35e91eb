"""An open-loop load of live conversations, and what it says of the promise: replies within the budget."""
