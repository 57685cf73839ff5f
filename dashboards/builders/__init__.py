"""What all dashboards share: panels, tables, rows, variables, expressions, colours and texts."""
