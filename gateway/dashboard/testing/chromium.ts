import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { type Look, SIZES, USUAL_LOOK } from './looks.ts'
import { findProgram } from './programs.ts'

/** Debian's and Ubuntu's, and where Google's own lies. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']
/** A test is not to wait longer for what does not come than it may take as a whole. */
const PATIENCE_MS = 20_000

/** Nothing but the page itself is to use the processor or the network: no name is looked up, no part is updated. */
const FLAGS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'],
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]

/** Where Chromium is; undefined where it is not installed. */
export function findChromium(): string | undefined {
  // the script in /usr/bin starts it through a shell, which a signal does not pass
  return ['/usr/lib/chromium/chromium'].find((path) => existsSync(path)) ?? findProgram(NAMES)
}

/** Starts Chromium without a window, on a profile of its own that is deleted at the end. */
export function launchChromium(flags: readonly string[] = []): Promise<Browser> {
  const executablePath = findChromium()
  if (executablePath === undefined) throw new Error('Chromium is not installed')
  return chromium.launch({
    executablePath,
    args: [...FLAGS, ...flags],
    // ours end it when they are done, and Node's test runner when it is interrupted
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  })
}

/** A browser as if it had just been installed: no cookies, nothing stored. */
export async function openContext(browser: Browser, look: Partial<Look> = {}): Promise<BrowserContext> {
  const { size, scheme, locale, timeZone } = { ...USUAL_LOOK, ...look }
  const context = await browser.newContext({
    ...{ viewport: SIZES[size], hasTouch: true, colorScheme: scheme, locale, timezoneId: timeZone },
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(PATIENCE_MS)
  return context
}
