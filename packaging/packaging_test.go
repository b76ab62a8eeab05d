package packaging_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"minutebook/config"
	"minutebook/internal/testrun"
)

// TestUnitsAreValid has systemd's own verifier read the units, where it is installed.
func TestUnitsAreValid(t *testing.T) {
	testrun.SkipUnderRace(t)
	verifier := testrun.Program(t, "systemd-analyze")
	dir := t.TempDir()
	units, err := filepath.Glob("minutebook*.*")
	if err != nil || len(units) != 3 {
		t.Fatal(units, err)
	}
	var paths []string
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, unit)
		content := strings.Replace(string(text), "/usr/bin/minutebook", "/bin/true", 1) // the verifier looks for it
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	out, err := exec.Command(verifier, append([]string{"verify", "--man=no"}, paths...)...).CombinedOutput()
	if err != nil || strings.Contains(string(out), dir) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestContainersConfiguration loads the configuration of the image, and that of
// compose.yaml, whose variables all mean something.
func TestContainersConfiguration(t *testing.T) {
	testrun.SkipUnderRace(t)
	image := []string{"MINUTEBOOK_DATA_DIR=/data"}
	c, err := config.Load("container.toml", "", image)
	if err != nil || c.DataDir != "/data" || c.Web.Access != config.AccessPeople || c.Web.Listen != "0.0.0.0:8377" {
		t.Errorf("%+v, %v", c, err)
	}
	text, err := os.ReadFile("../compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^ +(MINUTEBOOK_\w+): (.+)$`).FindAllStringSubmatch(string(text), -1) {
		value := regexp.MustCompile(`\$\{DOMAIN[^}]*\}`).ReplaceAllString(found[2], "minutes.example")
		image = append(image, found[1]+"="+value)
	}
	c, err = config.Load("container.toml", "", image)
	if err != nil || len(image) != 6 || c.Web.PublicURL != "https://minutes.example" || c.Receiver.PublicURL != "https://hooks.minutes.example" {
		t.Errorf("%q: %+v, %v", image, c, err)
	}
	if err == nil && len(c.UnknownVariables(image)) > 0 {
		t.Errorf("%+v", c.UnknownVariables(image))
	}
}

// TestDockerfileCopiesWhatIsThere looks for the files that the image and the packages take
// from the source.
func TestDockerfileCopiesWhatIsThere(t *testing.T) {
	testrun.SkipUnderRace(t)
	for file, pattern := range map[string]string{"../Dockerfile": `(?m)^COPY --from=build /src/(\S+)`, "nfpm.yaml": `(?m)^  \w+: (packaging/\S+)$`} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all := regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1)
		if len(all) == 0 {
			t.Errorf("%s names no file", file)
		}
		for _, found := range all {
			if _, err := os.Stat(filepath.Join("..", found[1])); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}
