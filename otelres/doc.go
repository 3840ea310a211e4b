package otelres
