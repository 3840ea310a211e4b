package otelres

// Update tells the tests outside of the package whether to write the golden files anew.
func Update() bool { return *update }
