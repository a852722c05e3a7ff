"""What a part of a site is worth, from what its visits have brought, and the budgets of a site."""
