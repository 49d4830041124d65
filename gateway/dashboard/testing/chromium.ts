import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { type Look, SIZES, USUAL_LOOK } from './looks.ts'
import { findProgram } from './programs.ts'

/** Debian's and Ubuntu's, and where Google's own lies. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']
/** A test is not to wait longer for what does not come than it may take as a whole. */
const TIMEOUT_MS = 20_000

/**
 * Nothing but the page itself is to use the processor or the network: no name is looked up, no part is updated, and no
 * process of its own stands in for the GPU that is not there (a fifth of what all of Chromium uses in the tests).
 */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
  '--in-process-gpu',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
]

/** Where Chromium is; undefined where it is not installed. */
export function findChromium(): string | undefined {
  // the script in /usr/bin starts it through a shell, which a signal does not pass
  return ['/usr/lib/chromium/chromium'].find((path) => existsSync(path)) ?? findProgram(NAMES)
}

/**
 * Starts Chromium without a window, on a profile of its own that is deleted at the end. One that crashes is started
 * again.
 */
export function launchChromium(flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch(launchOptions(flags)).catch(() => chromium.launch(launchOptions(flags)))
}

/** How it is started; of two flags with one name the last counts. */
function launchOptions(flags: readonly string[] = []) {
  const executablePath = findChromium()
  if (executablePath === undefined) throw new Error('Chromium is not installed')
  return {
    executablePath,
    args: [...FLAGS, ...flags],
    // ours end it when they are done, and Node's test runner when it is interrupted
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  }
}

/** A browser as if it had just been installed: no cookies, nothing stored. */
export async function openContext(browser: Browser, look: Partial<Look> = {}): Promise<BrowserContext> {
  const context = await browser.newContext(contextOptions(look))
  context.setDefaultTimeout(TIMEOUT_MS)
  return context
}

/** The same on a profile in this folder, with what Chromium gives to such a one only: an app can be installed. */
export async function openProfile(
  folder: string,
  flags: readonly string[],
  env: Record<string, string>,
): Promise<BrowserContext> {
  const context = await chromium.launchPersistentContext(folder, {
    ...launchOptions(flags),
    ...contextOptions({}),
    env: { ...process.env, ...env },
  })
  context.setDefaultTimeout(TIMEOUT_MS)
  return context
}

function contextOptions(look: Partial<Look>) {
  const { size, scheme, locale, timeZone } = { ...USUAL_LOOK, ...look }
  return {
    viewport: SIZES[size],
    hasTouch: true,
    colorScheme: scheme,
    locale,
    timezoneId: timeZone,
    reducedMotion: 'reduce' as const,
  }
}
