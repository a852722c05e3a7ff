"""The worth of the parts of a site, by the results of their visits, and the budgets of a site."""
