package browser

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var screenshots = flag.String("screenshots", "", "write the pictures of the documentation into this folder; make screenshots")

// The pictures of the documentation are taken of an incident, light and dark. Without -screenshots they are taken all the
// same, of a shorter one, and thrown away.
func TestScreenshots(t *testing.T) {
	b := open(t)
	s := startService(t)
	folder, slower := *screenshots, 10*time.Second
	if folder == "" {
		folder, slower = t.TempDir(), time.Second
	}
	b.do(chromedp.EmulateViewport(1280, 1000), chromedp.Navigate(s.url()))
	b.await(badge + `.innerText.trim() === "closed"`)
	time.Sleep(2 * slower)
	s.down.Store(true)
	b.await(badge + `.innerText.trim() === "open"`)
	time.Sleep(slower)
	s.down.Store(false)
	b.await(badge + `.innerText.trim() === "closed"`)
	time.Sleep(slower)
	s.down.Store(true)
	b.await(badge + `.innerText.trim() === "open" && /next probe in 1/.test(document.querySelector("#breakers").innerText)`)
	for _, scheme := range []string{"light", "dark"} {
		b.prefers(scheme)
		png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if len(png) < 10<<10 || len(png) > 200<<10 {
			t.Errorf("the picture of the page in %s has %d bytes, want 10 to 200 KB", scheme, len(png))
		}
		if err := os.WriteFile(filepath.Join(folder, "console-"+scheme+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.clean()
}
