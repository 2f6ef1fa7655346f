package validate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/roce-fabric/roce-fabric/render"
)

// siliconCase is a switch with hosts, and what must be true of it.
type siliconCase struct {
	model        string
	ports        string // "Ethernet[0-60:4]"
	hosts        int
	speed, cable string
	ecn, buffers string
	found        string // "error ECN-03" at leaf1, a part of its text after ": "; "" for none
	most         int64  // the largest max of ecn: auto, in bytes; 0 if the curve is stated
	notFound     string // an ID that must not be found
}

// Thresholds and pools of switches, computed by hand from the sizes of their templates: the number
// of slices S, the shared part B of one slice, and alpha.
func TestSiliconCases(t *testing.T) {
	const auto = "auto"
	for name, c := range map[string]siliconCase{
		// Tomahawk3: S 2, B 19231102, alpha 1/4: one group pauses at 3.85 MB.
		"th3 marks after the pause": {model: "DellEMC-Z9332f-O32", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "300m", ecn: "{min: 4MB, max: 7MB, probability: 100%}", buffers: "fanIn: 1, fanOut: 1",
			found: "error ECN-03: class rdma marks from 4MB; one port that sends into 1 queue pauses at the earliest when it holds 3846220B"},
		"th3 marks before the pause": {model: "DellEMC-Z9332f-O32", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "300m", ecn: "{min: 1MB, max: 3MB, probability: 100%}", buffers: "fanIn: 1, fanOut: 1", notFound: "ECN-03"},
		"th3 two queues":             {model: "DellEMC-Z9332f-O32", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "40m", ecn: auto, buffers: "fanOut: 2", most: 19231102 / 2 / 6},
		"th3 by slices":              {model: "DellEMC-Z9332f-O32", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "40m", ecn: "{min: 1700KB, max: 1800KB, probability: 100%}", buffers: "fanOut: 2", found: "warning ECN-03: class rdma marks from 1700KB"},
		"th3 headroom":               {model: "DellEMC-Z9332f-O32", ports: "Ethernet[0-248:8]", hosts: 32, speed: "400G", cable: "300m", ecn: auto, notFound: "BUF-14"}, // 16 x 373888 B in 13600176 B

		// Tomahawk: S 4, B 2718768, alpha 1.
		"th one to four":  {model: "Arista-7060CX-32S-C32", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: auto, buffers: "fanIn: 8, fanOut: 4", most: 135_938},
		"th one to eight": {model: "Arista-7060CX-32S-C32", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 60KB, max: 400KB, probability: 10%}", buffers: "fanIn: 8, fanOut: 8", found: "warning ECN-03: class rdma marks from 60KB"},
		"th headroom":     {model: "Arista-7060CX-32S-C32", ports: "Ethernet[0-52:4]", hosts: 14, speed: "100G", cable: "300m", ecn: auto, found: "warning BUF-14: of 14 lossless groups with 3762304 B of headroom, one of the chip's 4 slices has at least 1074944 B"},
		"th fewer ports":  {model: "Arista-7060CX-32S-C32", ports: "Ethernet[0-44:4]", hosts: 12, speed: "100G", cable: "300m", ecn: auto, notFound: "BUF-14"}, // 3 x 1292 of 5041 cells
		"th short cables": {model: "Arista-7060CX-32S-C32", ports: "Ethernet[0-76:4]", hosts: 20, speed: "100G", cable: "5m", ecn: auto, notFound: "BUF-14"},   // 5 x 796 of 5041 cells

		// Tomahawk2: S 4, B 8395504, alpha 1.
		"th2 one to four": {model: "Arista-7260CX3-C64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: auto, buffers: "fanOut: 4", most: 8395504 / 4 / 5},
		"th2 too late":    {model: "Arista-7260CX3-C64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 4300KB, max: 5MB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 4300KB"},
		"th2 in time":     {model: "Arista-7260CX3-C64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 100KB, max: 900KB, probability: 10%}", buffers: "fanIn: 2, fanOut: 2", notFound: "ECN-03"},
		"th2 headroom":    {model: "Arista-7260CX3-C64", ports: "Ethernet[0-252:4]", hosts: 64, speed: "100G", cable: "300m", ecn: auto, notFound: "BUF-14"}, // 16 x 101088 of 2241408 B
		"th2 declared":    {model: "Arista-7260CX3-C64", ports: "Ethernet[0-252:4]", hosts: 64, speed: "100G", cable: "300m", ecn: auto, buffers: "overSubscription: 1", notFound: "BUF-05"},

		// Trident3: S 1, B 32712448 - 1622016 - 32 x (2 x 4608 + 5 x 1792) = 30508800, alpha 1.
		"td3 one to eight": {model: "Arista-7050CX3-32S-C32", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: auto, buffers: "fanOut: 8", most: 30508800 / 8 / 9},
		"td3 too late":     {model: "Arista-7050CX3-32S-C32", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 5300KB, max: 6MB, probability: 10%}", buffers: "fanIn: 2, fanOut: 2", found: "error ECN-03: class rdma marks from 5300KB"},
		"td3 in time":      {model: "Arista-7050CX3-32S-C32", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 200KB, max: 1500KB, probability: 10%}", buffers: "fanIn: 4, fanOut: 4", notFound: "ECN-03"},
		"td3 one memory":   {model: "Arista-7050CX3-32S-C32", ports: "Ethernet[0-124:4]", hosts: 32, speed: "100G", cable: "300m", ecn: auto, notFound: "BUF-14"},
		"td3 declared":     {model: "Arista-7050CX3-32S-C32", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: auto, buffers: "overSubscription: 1.5", found: "warning BUF-05: the headroom of 16 lossless groups is 2560000 B, 1.58 times the pool of 1622016 B"},

		// Tomahawk5: S 2, B 166115492 - 29423360 - 128 x (2 x 18796 + 10 x 1778) over 2 = 64802218.
		"th5 one to eight": {model: "Arista-7060X6-64PE-O128S2", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "5m", ecn: auto, buffers: "fanOut: 8", most: 64802218 / 8 / 9},
		"th5 too late":     {model: "Arista-7060X6-64PE-O128S2", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "5m", ecn: "{min: 33MB, max: 34MB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 33MB"},
		"th5 in time":      {model: "Arista-7060X6-64PE-O128S2", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "5m", ecn: "{min: 1MB, max: 5MB, probability: 10%}", buffers: "fanIn: 2, fanOut: 2", notFound: "ECN-03"},
		"th5 headroom":     {model: "Arista-7060X6-64PE-O128S2", ports: "Ethernet[0-76:4]", hosts: 20, speed: "400G", cable: "40m", ecn: auto, notFound: "BUF-14"},
		"th5 declared":     {model: "Arista-7060X6-64PE-O128S2", ports: "Ethernet[0-252:4]", hosts: 64, speed: "400G", cable: "40m", ecn: auto, buffers: "overSubscription: 2", notFound: "BUF-05"},

		// Spectrum: one memory, the pool is free of headroom, alpha 1; min, the
		// group's size less xoff, does not count for the queue.
		// T(A) = min + B/(1 + A), on Spectrum-4 with beta 64: min + 64*B/(2 + 64*A).
		"spc1 one to four":           {model: "ACS-MSN2700", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: auto, buffers: "fanOut: 4", most: 3302912 / 5 / 4},
		"spc1 one memory":            {model: "ACS-MSN2700", ports: "Ethernet[0-124:4]", hosts: 32, speed: "100G", cable: "300m", ecn: auto, notFound: "BUF-14"},
		"spc2 marks after the pause": {model: "ACS-MSN3700", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 6MB, max: 7MB, probability: 100%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 6MB"}, // 19456 + 11622400/2 = 5830656
		"spc2 marks before it":       {model: "ACS-MSN3700", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 1MB, max: 5800KB, probability: 100%}", buffers: "fanIn: 1, fanOut: 1", notFound: "ECN-03"},
		"spc3 one to eight":          {model: "ACS-MSN4700", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "5m", ecn: auto, buffers: "fanOut: 8", most: 20627456 / 9 / 8},
		"spc3 max after the pause":   {model: "ACS-MSN4700", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "5m", ecn: "{min: 200KB, max: 400KB, probability: 100%}", buffers: "fanOut: 8", found: "warning ECN-03: class rdma marks every packet from 400KB"},
		"spc4 a limit of the port":   {model: "ACS-SN5600", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "5m", ecn: auto, buffers: "fanOut: 8", most: 64 * 52161690 / 514 / 8},
		// Trident2: S 1, no headroom pool, B 12766208 - 32 x 2 x 56368 = 9158656, alpha 1/8, min 1248.
		"td2 one to four":        {model: "Force10-S6000", ports: "Ethernet[0-60:4]", hosts: 16, speed: "40G", cable: "5m", ecn: auto, buffers: "fanOut: 4", most: 9158656 / 12 / 4},
		"td2 too late":           {model: "Force10-S6000", ports: "Ethernet[0-60:4]", hosts: 16, speed: "40G", cable: "5m", ecn: "{min: 1100KB, max: 1200KB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 1100KB; one port that sends into 1 queue pauses at the earliest when it holds 1017628B"},
		"td2 in time":            {model: "Force10-S6000", ports: "Ethernet[0-60:4]", hosts: 16, speed: "40G", cable: "5m", ecn: "{min: 30KB, max: 190KB, probability: 10%}", buffers: "fanOut: 4", notFound: "ECN-03"},
		"td2 max after a pause":  {model: "Force10-S6000", ports: "Ethernet[0-60:4]", hosts: 16, speed: "40G", cable: "5m", ecn: "{min: 30KB, max: 192KB, probability: 10%}", buffers: "fanOut: 4", found: "warning ECN-03: class rdma marks every packet from 192KB"},
		"td2 no headroom pool":   {model: "Force10-S6000", ports: "Ethernet[0-124:4]", hosts: 32, speed: "40G", cable: "300m", ecn: auto, notFound: "BUF-14"},
		"td2 nothing to declare": {model: "Force10-S6000", ports: "Ethernet[0-124:4]", hosts: 32, speed: "40G", cable: "300m", ecn: auto, buffers: "overSubscription: 1", notFound: "BUF-05"},

		// Tomahawk4: S 2, B (113620296 - 50653696 - 66 x 2 x 9144) / 2 = 30879796, alpha 1.
		"th4 one to four":    {model: "DellEMC-Z9664f-O64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "5m", ecn: auto, buffers: "fanOut: 4", most: 30879796 / 5 / 4},
		"th4 too late":       {model: "DellEMC-Z9664f-O64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "5m", ecn: "{min: 16MB, max: 17MB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 16MB"},
		"th4 in time":        {model: "DellEMC-Z9664f-O64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "5m", ecn: "{min: 300KB, max: 1500KB, probability: 10%}", buffers: "fanOut: 4", notFound: "ECN-03"},
		"th4 by slices":      {model: "DellEMC-Z9664f-O64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "5m", ecn: "{min: 1600KB, max: 1700KB, probability: 10%}", buffers: "fanOut: 4", found: "warning ECN-03: class rdma marks from 1600KB"},
		"th4 headroom":       {model: "DellEMC-Z9664f-O64", ports: "Ethernet[0-252:4]", hosts: 64, speed: "400G", cable: "300m", ecn: auto, found: "info BUF-14: of 64 lossless groups with 52311808 B of headroom, one of the chip's 2 slices has at least 26155904 B"}, // in 25326848 B
		"th4 shorter cables": {model: "DellEMC-Z9664f-O64", ports: "Ethernet[0-252:4]", hosts: 64, speed: "400G", cable: "40m", ecn: auto, notFound: "BUF-14"},                                                                                                           // 32 x 424434 B
		// Tomahawk6: S 1, B 258035400 - 81553920 - 128 x 2 x 4620 = 175298760, alpha 1.
		"th6 one to eight":      {model: "NH-4210-F-P128", ports: "Ethernet[0-120:8]", hosts: 16, speed: "800G", cable: "5m", ecn: auto, buffers: "fanOut: 8", most: 175298760 / 9 / 8},
		"th6 too late":          {model: "NH-4210-F-P128", ports: "Ethernet[0-120:8]", hosts: 16, speed: "800G", cable: "5m", ecn: "{min: 88MB, max: 90MB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 88MB"},
		"th6 in time":           {model: "NH-4210-F-P128", ports: "Ethernet[0-120:8]", hosts: 16, speed: "800G", cable: "5m", ecn: "{min: 600KB, max: 2430KB, probability: 10%}", buffers: "fanOut: 8", notFound: "ECN-03"},
		"th6 max after a pause": {model: "NH-4210-F-P128", ports: "Ethernet[0-120:8]", hosts: 16, speed: "800G", cable: "5m", ecn: "{min: 600KB, max: 2440KB, probability: 10%}", buffers: "fanOut: 8", found: "warning ECN-03: class rdma marks every packet from 2440KB"},
		"th6 declared":          {model: "NH-4210-F-P128", ports: "Ethernet[0-1016:8]", hosts: 128, speed: "800G", cable: "300m", ecn: auto, buffers: "overSubscription: 4", found: "warning BUF-05: the headroom of 128 lossless groups is 348687360 B, 4.28 times the pool of 81553920 B"},

		// Jericho2: S 2, memory outside of the chip, B (6441610000 - 1056256819) / 2 = 2692676590,
		// alpha 1/64 at 100G.
		"jr2 one to 64":         {model: "Arista-7800R3-48CQ2-C48", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: auto, buffers: "fanOut: 64", most: 2692676590 / 128 / 64},
		"jr2 too late":          {model: "Arista-7800R3-48CQ2-C48", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: "{min: 42MB, max: 43MB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 42MB; one port that sends into 1 queue pauses at the earliest when it holds 41425793B"},
		"jr2 in time":           {model: "Arista-7800R3-48CQ2-C48", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: "{min: 75KB, max: 750KB, probability: 10%}", buffers: "fanOut: 8", notFound: "ECN-03"},
		"jr2 max after a pause": {model: "Arista-7800R3-48CQ2-C48", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: "{min: 75KB, max: 330KB, probability: 10%}", buffers: "fanOut: 64", found: "warning ECN-03: class rdma marks every packet from 330KB"},
		"jr2 headroom":          {model: "Arista-7800R3-48CQ2-C48", ports: "Ethernet[0-188:4]", hosts: 48, speed: "100G", cable: "300m", ecn: auto, notFound: "BUF-14"}, // 24 x 110592 of 528128409 B

		// Jericho2C+: S 2, memory outside of the chip, B (6441610000 - 396096307) / 2 = 3022756846,
		// alpha 1/64 at 100G.
		"j2c+ one to 64":         {model: "Arista-7800R3A-36D2-C72", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: auto, buffers: "fanOut: 64", most: 3022756846 / 128 / 64},
		"j2c+ too late":          {model: "Arista-7800R3A-36D2-C72", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: "{min: 47MB, max: 48MB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 47MB; one port that sends into 1 queue pauses at the earliest when it holds 46503951B"},
		"j2c+ in time":           {model: "Arista-7800R3A-36D2-C72", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: "{min: 75KB, max: 368KB, probability: 10%}", buffers: "fanOut: 64", notFound: "ECN-03"},
		"j2c+ max after a pause": {model: "Arista-7800R3A-36D2-C72", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: "{min: 75KB, max: 370KB, probability: 10%}", buffers: "fanOut: 64", found: "warning ECN-03: class rdma marks every packet from 370KB"},
		"j2c+ headroom":          {model: "Arista-7800R3A-36D2-C72", ports: "Ethernet[0-72:4]", hosts: 19, speed: "100G", cable: "100000m", ecn: auto, found: "warning BUF-14: of 19 lossless groups with 380092416 B of headroom, one of the chip's 2 slices has at least 200048640 B"}, // in 198048153 B
		"j2c+ fewer ports":       {model: "Arista-7800R3A-36D2-C72", ports: "Ethernet[0-68:4]", hosts: 18, speed: "100G", cable: "100000m", ecn: auto, notFound: "BUF-14"},

		// Qumran3D: S 8, memory outside of the chip, B (25766440000 - 4024103375) / 8 = 2717792078,
		// alpha 1/64.
		"q3d one to 64":         {model: "NH-5010-F-O64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "300m", ecn: auto, buffers: "fanOut: 64", most: 2717792078 / 128 / 64},
		"q3d too late":          {model: "NH-5010-F-O64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "300m", ecn: "{min: 42MB, max: 43MB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 42MB; one port that sends into 1 queue pauses at the earliest when it holds 41812185B"},
		"q3d in time":           {model: "NH-5010-F-O64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "300m", ecn: "{min: 75KB, max: 331KB, probability: 10%}", buffers: "fanOut: 64", notFound: "ECN-03"},
		"q3d max after a pause": {model: "NH-5010-F-O64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "400G", cable: "300m", ecn: "{min: 75KB, max: 333KB, probability: 10%}", buffers: "fanOut: 64", found: "warning ECN-03: class rdma marks every packet from 333KB"},
		"q3d headroom":          {model: "NH-5010-F-O64", ports: "Ethernet[0-252:4]", hosts: 64, speed: "400G", cable: "100000m", ecn: auto, notFound: "BUF-14"},                                                                                                                              // 8 x 62653744 of 503012921 B
		"q3d longest cables":    {model: "Arista-7280R4-32QF-32DF-64O", ports: "Ethernet[0-128:4]", hosts: 33, speed: "400G", cable: "100000m", ecn: auto, found: "warning BUF-14: of 33 lossless groups with 2636722176 B of headroom, one of the chip's 8 slices has at least 399503360 B"}, // in 357906841 B

		// Silicon One: no pool, headroom or alpha is published for any model, so nothing may follow
		// from a pool: the tool says that it has none.
		"gb no pool":      {model: "Cisco-8102-C64", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "300m", ecn: "{min: 47MB, max: 48MB, probability: 100%}", buffers: "fanIn: 1, fanOut: 1", found: "info CAT-01: the model's ports are known, its buffers are not", notFound: "ECN-03"},
		"gb no slices":    {model: "Cisco-8102-C64", ports: "Ethernet[0-252:4]", hosts: 64, speed: "100G", cable: "300m", ecn: auto, notFound: "BUF-14"},
		"gr no pool":      {model: "Cisco-8111-O32", ports: "Ethernet[0-248:8]", hosts: 32, speed: "400G", cable: "300m", ecn: auto, found: "info CAT-01: the model's ports are known, its buffers are not", notFound: "BUF-14"},
		"gr2 no pool":     {model: "Cisco-8122-O64", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "300m", ecn: auto, found: "info CAT-01: the model's ports are known, its buffers are not", notFound: "BUF-05"},
		"gr2 no headroom": {model: "Cisco-8122-O64", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "300m", ecn: auto, buffers: "overSubscription: 1", notFound: "BUF-05"},

		// Teralynx: the division is not known, B 51691264 - 17708800 = 33982464, alpha 2, min 1518.
		"teralynx one to eight":      {model: "Wistron_sw_to3200k", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "5m", ecn: auto, buffers: "fanOut: 8", most: 2 * 33982464 / 17 / 8},
		"teralynx too late":          {model: "Wistron_sw_to3200k", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "5m", ecn: "{min: 23MB, max: 24MB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 23MB"},
		"teralynx in time":           {model: "Wistron_sw_to3200k", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "5m", ecn: "{min: 300KB, max: 499KB, probability: 10%}", buffers: "fanOut: 8", notFound: "ECN-03"},
		"teralynx max after a pause": {model: "Wistron_sw_to3200k", ports: "Ethernet[0-120:8]", hosts: 16, speed: "400G", cable: "5m", ecn: "{min: 300KB, max: 501KB, probability: 10%}", buffers: "fanOut: 8", found: "warning ECN-03: class rdma marks every packet from 501KB"},
		"teralynx no slices known":   {model: "Wistron_sw_to3200k", ports: "Ethernet[0-248:8]", hosts: 32, speed: "400G", cable: "300m", ecn: auto, notFound: "BUF-14"},

		// Tofino: the division is not known, B 2097152, alpha 128, min 36864 at 5 m.
		"tofino one to four":       {model: "Arista-7170-64C", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: auto, buffers: "fanOut: 4", most: 128 * 2097152 / 513 / 4},
		"tofino too late":          {model: "Arista-7170-64C", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 2200KB, max: 2300KB, probability: 10%}", buffers: "fanIn: 1, fanOut: 1", found: "error ECN-03: class rdma marks from 2200KB"},
		"tofino in time":           {model: "Arista-7170-64C", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 60KB, max: 130KB, probability: 10%}", buffers: "fanOut: 4", notFound: "ECN-03"},
		"tofino max after a pause": {model: "Arista-7170-64C", ports: "Ethernet[0-60:4]", hosts: 16, speed: "100G", cable: "5m", ecn: "{min: 60KB, max: 132KB, probability: 10%}", buffers: "fanOut: 4", found: "warning ECN-03: class rdma marks every packet from 132KB"},
		"tofino no slices known":   {model: "Arista-7170-64C", ports: "Ethernet[0-252:4]", hosts: 64, speed: "100G", cable: "300m", ecn: auto, notFound: "BUF-14"},
	} {
		t.Run(name, func(t *testing.T) { c.check(t) })
	}
}

func (c siliconCase) check(t *testing.T) {
	text := fmt.Sprintf(`apiVersion: roce-fabric/v1
kind: Fabric
name: f
classes:
  rdma: {priority: 3, dscp: [26], lossless: true, bandwidth: 60%%, ecn: %s}
  cnp: {priority: 6, dscp: [48], strict: true}
  default: {priority: 0, dscp: rest, bandwidth: 40%%}
buffers: {%s}
switches: {leaf1: {os: sonic, address: "192.0.2.1:8080", model: %s}}
hosts: {"gpu[1-%d]": {nics: {eth0: {}}}}
links: [{a: "leaf1/%s", b: "gpu[1-%d]/eth0", cable: %s, speed: %s}]
`, c.ecn, c.buffers, c.model, c.hosts, c.ports, c.hosts, c.cable, c.speed)
	var all []string
	found := c.found == ""
	for _, f := range static(t, text) {
		line := fmt.Sprintf("%s %s: %s", f.Severity, f.ID, f.What)
		all = append(all, line)
		found = found || strings.HasPrefix(line, c.found)
		if f.ID == c.notFound {
			t.Errorf("found: %s", line)
		}
	}
	if !found {
		t.Errorf("%q is not among\n%s", c.found, strings.Join(all, "\n"))
	}
	if c.most == 0 {
		return
	}
	d := compile(t, text)
	sw := d.Fabric().Switch("leaf1")
	p := sw.Ports[0]
	m := render.ECN(p, p.Settings.Class("rdma"), d.Device(sw).Model)
	if max := m.Curve.Max; max > c.most || max < c.most-1024 {
		t.Errorf("ecn: auto has a max of %d B, want a whole number of KiB up to %d B: %s", max, c.most, m.Why)
	}
}

// A measurement counts for its model, speed and cable, and the latest one counts; ecn: auto follows
// the threshold.
func TestMeasuredCounts(t *testing.T) {
	text := func(measured string) string {
		return strings.Replace(base, "ecn: {min: 150KB, max: 1500KB, probability: 10%}", "ecn: auto", 1) + "buffers: {fanOut: 4}\nmeasured:\n" + measured
	}
	entry := func(model, speed, cable, pause, date string) string {
		return fmt.Sprintf("  - {model: %s, speed: %s, cable: %s, pause: %s, date: %s, source: a test}\n", model, speed, cable, pause, date)
	}
	const model = "DellEMC-Z9332f-O32"
	most := func(measured string) int64 {
		d := compile(t, text(measured))
		sw := d.Fabric().Switch("leaf1")
		p := sw.Ports[0]
		return render.ECN(p, p.Settings.Class("rdma"), d.Device(sw).Model).Curve.Max
	}
	usual := most(entry(model, "100G", "40m", "2MB", "2026-11-01") + entry(model, "400G", "5m", "2MB", "2026-11-01") + entry("ACS-MSN4700", "400G", "40m", "2MB", "2026-11-01"))
	half := most(entry(model, "400G", "40m", "1925650B", "2026-11-01"))
	if half >= usual || half < usual/2-1024 || half > usual/2+1024 {
		t.Errorf("with half the threshold, max is %d; usually %d", half, usual)
	}
	older := entry(model, "400G", "40m", "3MB", "2025-11-01") + entry(model, "400G", "40m", "1925650B", "2026-11-01") + entry(model, "400G", "40m", "3MB", "2024-11-01")
	if got := most(older); got != half {
		t.Errorf("with older measurements, max is %d, want %d", got, half)
	}
}
