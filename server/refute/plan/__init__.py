"""The plan as data: claims, hypotheses, scenarios, arms, budgets; its reader, writer and rules."""
