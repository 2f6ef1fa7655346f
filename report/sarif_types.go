package report

// These types are the part of SARIF 2.1.0 (OASIS, static analysis results interchange format)
// that a report uses. Names and order follow the standard.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool            `json:"tool"`
	Automation  sarifAutomation      `json:"automationDetails"`
	Invocations []sarifInvocation    `json:"invocations"`
	BaseIDs     map[string]sarifBase `json:"originalUriBaseIds"`
	ColumnKind  string               `json:"columnKind"`
	Language    string               `json:"language"`
	Newlines    []string             `json:"newlineSequences"`
	Results     []sarifResult        `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name     string      `json:"name"`
	Version  string      `json:"version,omitempty"`
	URI      string      `json:"informationUri"`
	Language string      `json:"language"`
	Rules    []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID         string       `json:"id"`
	Name       string       `json:"name,omitempty"`
	Short      sarifText    `json:"shortDescription"`
	Full       sarifText    `json:"fullDescription"`
	Help       sarifText    `json:"help"`
	Default    sarifDefault `json:"defaultConfiguration"`
	Properties sarifTags    `json:"properties"`
}

type sarifText struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifDefault struct {
	Level string `json:"level"`
}

type sarifTags struct {
	Tags []string `json:"tags,omitempty"`
	// Severity is the field that GitHub code scanning sorts by.
	Severity string `json:"problem.severity"`
}

type sarifAutomation struct {
	ID string `json:"id"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	End           string              `json:"endTimeUtc"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifBase struct {
	Description sarifText `json:"description"`
}

type sarifResult struct {
	RuleID       string             `json:"ruleId"`
	RuleIndex    int                `json:"ruleIndex"`
	Kind         string             `json:"kind,omitempty"` // SARIF readers assume "fail" if it is missing
	Level        string             `json:"level"`
	Message      sarifText          `json:"message"`
	Locations    []sarifLocation    `json:"locations"`
	Fingerprints map[string]string  `json:"partialFingerprints"`
	Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	// Taxa lists the other rules that fail for the same cause (SARIF 2.1.0, 3.27.8).
	Taxa       []sarifTaxon `json:"taxa,omitempty"`
	Properties sarifFound   `json:"properties"`
}

// sarifTaxon refers to a rule by its ID.
type sarifTaxon struct {
	ID string `json:"id"`
}

// sarifFound holds the details of a finding for programs.
type sarifFound struct {
	What string `json:"what"`
	Fix  string `json:"fix,omitempty"`
	// Unchecked, Because and NotMade are copied from the finding.
	Unchecked string   `json:"unchecked,omitempty"`
	Because   string   `json:"because,omitempty"`
	NotMade   []string `json:"notMade,omitempty"`
}

type sarifLocation struct {
	Physical *sarifPhysical `json:"physicalLocation,omitempty"`
	Logical  []sarifLogical `json:"logicalLocations,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId,omitempty"`
}

type sarifRegion struct {
	Line   int `json:"startLine"`
	Column int `json:"startColumn"`
}

type sarifLogical struct {
	Name string `json:"name"`
	Full string `json:"fullyQualifiedName"`
	Kind string `json:"kind"`
}

type sarifSuppression struct {
	Kind          string         `json:"kind"`
	Status        string         `json:"status"`
	Justification string         `json:"justification"`
	Location      *sarifLocation `json:"location,omitempty"`
}
