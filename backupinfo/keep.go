package backupinfo

import "time"

// KeepOptions say which snapshots of a group pruning keeps. The zero value says
// nothing, see Keeps.
type KeepOptions struct {
	// How many to keep: of the newest, and of the newest in each hour, day, week,
	// month and year. They are taken one after the other, and each looks only at
	// hours, days and so on of which the ones before keep nothing. Less than 1 is not
	// given.
	Last, Hourly, Daily, Weekly, Monthly, Yearly int

	// How far back from the newest finished snapshot to keep: all, and the newest in
	// each hour, day, week, month and year. What one of these keeps, it keeps beside
	// all others. The zero Span is not given.
	Within, WithinHourly, WithinDaily, WithinWeekly, WithinMonthly, WithinYearly Span

	// Now is the latest time that spans are counted back from, against a snapshot
	// with a time in the future, which would let all others end. Zero means no limit.
	Now Time
}

// KeepReason is why a snapshot is kept: a rule by the name that it has on a command
// line behind "keep-", or one of the last three.
type KeepReason string

// The reasons.
const (
	ForLast    KeepReason = "last"
	ForHourly  KeepReason = "hourly"
	ForDaily   KeepReason = "daily"
	ForWeekly  KeepReason = "weekly"
	ForMonthly KeepReason = "monthly"
	ForYearly  KeepReason = "yearly"

	ForWithin        KeepReason = "within"
	ForWithinHourly  KeepReason = "within-hourly"
	ForWithinDaily   KeepReason = "within-daily"
	ForWithinWeekly  KeepReason = "within-weekly"
	ForWithinMonthly KeepReason = "within-monthly"
	ForWithinYearly  KeepReason = "within-yearly"

	ForProtected KeepReason = "protected" // whatever the rules say
	ForPartial   KeepReason = "partial"   // unfinished, and the newest of all
	ForWriting   KeepReason = "writing"   // unfinished, and its writer is alive
)

// Keeps reports whether any rule is given. Where none is, everything is to be kept
// without asking [Prune], whose rules then keep nothing.
func (o KeepOptions) Keeps() bool {
	for _, rule := range o.counting() {
		if rule.count > 0 {
			return true
		}
	}
	for _, rule := range o.spanning() {
		if !rule.span.IsZero() {
			return true
		}
	}
	return false
}

// keepRule is one of the options.
type keepRule struct {
	reason KeepReason
	label  func(Time, *time.Location) string // of two with one label the newer is kept
	count  int
	span   Span
}

// counting lists the rules that count, in the order in which they are taken.
func (o KeepOptions) counting() []keepRule {
	return []keepRule{
		{reason: ForLast, label: eachOne, count: o.Last},
		{reason: ForHourly, label: Hour.Label, count: o.Hourly},
		{reason: ForDaily, label: Day.Label, count: o.Daily},
		{reason: ForWeekly, label: Week.Label, count: o.Weekly},
		{reason: ForMonthly, label: Month.Label, count: o.Monthly},
		{reason: ForYearly, label: Year.Label, count: o.Yearly},
	}
}

// spanning lists the rules that look back.
func (o KeepOptions) spanning() []keepRule {
	return []keepRule{
		{reason: ForWithin, label: eachOne, span: o.Within},
		{reason: ForWithinHourly, label: Hour.Label, span: o.WithinHourly},
		{reason: ForWithinDaily, label: Day.Label, span: o.WithinDaily},
		{reason: ForWithinWeekly, label: Week.Label, span: o.WithinWeekly},
		{reason: ForWithinMonthly, label: Month.Label, span: o.WithinMonthly},
		{reason: ForWithinYearly, label: Year.Label, span: o.WithinYearly},
	}
}

func eachOne(t Time, _ *time.Location) string { return t.String() }
