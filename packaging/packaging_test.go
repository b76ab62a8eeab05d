package packaging_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

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
	for name, value := range readCompose(t, "../compose.yaml").Services["minutebook"].Environment {
		image = append(image, name+"="+regexp.MustCompile(`\$\{DOMAIN[^}]*\}`).ReplaceAllString(value, "minutes.example"))
	}
	c, err = config.Load("container.toml", "", image)
	if err != nil || len(image) != 6 || c.Web.PublicURL != "https://minutes.example" || c.Receiver.PublicURL != "https://hooks.minutes.example" {
		t.Errorf("%q: %+v, %v", image, c, err)
	}
	if err == nil && len(c.UnknownVariables(image)) > 0 {
		t.Errorf("%+v", c.UnknownVariables(image))
	}
}

// compose is a compose.yaml.
type compose struct {
	Services map[string]struct {
		Image       string
		Build       *struct{ Context string }
		Environment map[string]string
		Volumes     []string
	}
}

func readCompose(t *testing.T, path string) (c compose) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &c)
	}
	if err != nil || len(c.Services) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	return c
}

// TestComposeFindsItsFiles looks for the files that compose.yaml mounts, and for the
// Dockerfile of an image that it builds: in the source, and in the examples of packages,
// which have no source to build from.
func TestComposeFindsItsFiles(t *testing.T) {
	testrun.SkipUnderRace(t)
	examples := t.TempDir()
	cmd := exec.Command("packaging/examples", examples)
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, dir := range []string{"..", examples} {
		mounted := 0
		for name, s := range readCompose(t, filepath.Join(dir, "compose.yaml")).Services {
			var needed []string
			if s.Build != nil {
				needed = append(needed, filepath.Join(s.Build.Context, "Dockerfile"))
			}
			for _, volume := range s.Volumes {
				if source, _, _ := strings.Cut(volume, ":"); strings.HasPrefix(source, ".") {
					needed = append(needed, source)
					mounted++
				}
			}
			for _, path := range needed {
				if info, err := os.Stat(filepath.Join(dir, path)); err != nil || !info.Mode().IsRegular() {
					t.Errorf("%s of %s: %v", name, dir, err)
				}
			}
		}
		if mounted != 2 {
			t.Errorf("%s: %d files are mounted", dir, mounted)
		}
	}
}

// TestADiskThatIsAwayKeepsNoServiceDown looks for advice by which systemd refuses the service
// while the disk of the backups is not there.
func TestADiskThatIsAwayKeepsNoServiceDown(t *testing.T) {
	testrun.SkipUnderRace(t)
	for _, file := range []string{"../docs/backup.md", "../docs/systemd.md", "../control/doctor_disk.go", "systemd_long_test.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`ReadWritePaths=[^-\s"].*`).Find(text); found != nil {
			t.Errorf("%s has %s", file, found)
		}
	}
}

// TestImagesHaveAPlaceForBackups looks for the folder of a second volume, which is root's where
// an image does not have it.
func TestImagesHaveAPlaceForBackups(t *testing.T) {
	testrun.SkipUnderRace(t)
	for file, want := range map[string]string{"../Dockerfile": "COPY --from=build --chown=65532:65532 /out/backups /backups", "../docs/how-to/container.md": "install -d -m 0700 -o 65532 -g 65532 /data /backups"} {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no line %q, %v", file, want, err)
		}
	}
}

// TestDockerfileCopiesWhatIsThere looks for the files that the image and the packages take
// from the source. The image's user can read them, whatever their modes are there.
func TestDockerfileCopiesWhatIsThere(t *testing.T) {
	testrun.SkipUnderRace(t)
	for file, pattern := range map[string]string{"../Dockerfile": `(?m)^COPY --from=build --chmod=0644 /src/(\S+)`, "nfpm.yaml": `(?m)^  \w+: (packaging/\S+)$`} {
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

// TestLinksLeadInPackages follows the links between the documents as the packages lay them out.
func TestLinksLeadInPackages(t *testing.T) {
	testrun.SkipUnderRace(t)
	config, err := os.ReadFile("nfpm.yaml")
	if err != nil {
		t.Fatal(err)
	}
	shipped := map[string]bool{} // by their paths in the source
	for _, found := range regexp.MustCompile(`dst: /usr/share/doc/minutebook/([^ ,]+)`).FindAllStringSubmatch(string(config), -1) {
		shipped[found[1]] = true
	}
	documents := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md"}
	err = filepath.WalkDir("../docs", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			path = strings.TrimPrefix(path, "../")
			shipped[path] = true
			if strings.HasSuffix(path, ".md") {
				documents = append(documents, path)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range documents {
		text, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)#\s:]+)(?:#[^)\s]*)?\)`).FindAllStringSubmatch(string(text), -1) {
			if to := filepath.Join(filepath.Dir(path), link[1]); !shipped[to] {
				t.Errorf("%s: %s is in no package", path, to)
			}
		}
	}
}
