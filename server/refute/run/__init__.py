"""Where the rooms meet: the scenario runner, jobs, reruns, reduction."""
