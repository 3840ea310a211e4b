package browser

import (
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

func TestLook(t *testing.T) {
	b := open(t)
	s := startService(t)
	b.do(chromedp.Navigate(s.url()))
	shot := func(name string) {
		png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		os.WriteFile("/tmp/w-console-"+name+".png", png, 0o644)
	}
	time.Sleep(8 * time.Second)
	s.down.Store(true)
	time.Sleep(5 * time.Second)
	b.do(chromedp.EmulateViewport(1280, 1100))
	shot("light")
	b.prefers("dark")
	shot("dark")
	s.down.Store(false)
	time.Sleep(4 * time.Second)
	shot("dark2")
	b.do(chromedp.EmulateViewport(390, 1800, chromedp.EmulateMobile))
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/w-console-phone.png", png, 0o644)
	b.clean()
}
