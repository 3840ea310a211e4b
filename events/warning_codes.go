package events

// Codes of [ConfigWarning]s. They are stable; docs/warnings.md explains each.
const (
	// WarningDuplicateName: another live source on the bus has the same name and type.
	WarningDuplicateName = "duplicate_name"
	// WarningManySources: more than 100 sources of one name and type live at once.
	WarningManySources = "many_sources"
	// WarningTimeoutOrder: an inner timeout is not shorter than an outer one.
	WarningTimeoutOrder = "timeout_order"
	// WarningTimeoutTwice: nothing between two timeouts starts what is inside them more than once.
	WarningTimeoutTwice = "timeout_twice"
	// WarningTotalTooShort: at worst the total timeout leaves no time for a second attempt.
	WarningTotalTooShort = "total_too_short"
	// WarningCooldownTooLong: a retry of rejections gives up before the breaker's cooldown has passed.
	WarningCooldownTooLong = "cooldown_too_long"
	// WarningNestedRetry: a retry runs inside another: their attempts multiply.
	WarningNestedRetry = "nested_retry"
	// WarningBulkheadInRetry: a call has to find room anew for each attempt.
	WarningBulkheadInRetry = "bulkhead_in_retry"
	// WarningFailuresHidden: a fallback answers for every failure, so that a retry or breaker outside of it never sees one.
	WarningFailuresHidden = "failures_hidden"
	// WarningAdaptiveOutsideRetry: an adaptive limiter takes the waits of a retry for the latency of the dependency.
	WarningAdaptiveOutsideRetry = "adaptive_outside_retry"
	// WarningRejectionsNotRetried: a retry of rejections has no breaker inside it, but another layer that rejects.
	WarningRejectionsNotRetried = "rejections_not_retried"
	// WarningSameName: several layers of a pipeline were given one name.
	WarningSameName = "same_name"
	// WarningShortDuration: a duration is below a millisecond, as one without its unit would be.
	WarningShortDuration = "short_duration"
	// WarningHangUnnoticed: calls that hang would never open the breaker.
	WarningHangUnnoticed = "hang_unnoticed"
	// WarningOtherBus: a layer's state is on another bus than its pipeline.
	WarningOtherBus = "other_bus"
	// WarningEmptyKey: a call without a key reached a singleflight, which joins by key.
	WarningEmptyKey = "empty_key"
	// WarningKeyedFull: a Keyed has no room for another key: new ones share a gate.
	WarningKeyedFull = "keyed_full"
	// WarningClientTimeout: the client around a pipeline has a limit of its own, shorter than a Timeout of the pipeline.
	WarningClientTimeout = "client_timeout"
)

// WarningCodes lists the codes of this module's warnings.
func WarningCodes() []string {
	return []string{WarningDuplicateName, WarningManySources, WarningTimeoutOrder, WarningTimeoutTwice, WarningTotalTooShort,
		WarningCooldownTooLong, WarningNestedRetry, WarningBulkheadInRetry, WarningShortDuration, WarningHangUnnoticed, WarningOtherBus,
		WarningEmptyKey, WarningKeyedFull, WarningFailuresHidden, WarningAdaptiveOutsideRetry, WarningRejectionsNotRetried, WarningSameName,
		WarningClientTimeout}
}
