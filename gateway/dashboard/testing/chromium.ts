import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { findProgram } from './programs.ts'
import { DEFAULT_SETUP, type ScreenSetup, SIZES } from './screen-setups.ts'

/** Program names on Debian and Ubuntu, and of Google's own package. */
const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome']
/** Timeout of a wait, shorter than that of a whole test. */
const TIMEOUT_MS = 20_000

/**
 * Only the page itself may use the processor or the network: no name is resolved, no component is updated, and no
 * process emulates the missing GPU (a fifth of Chromium's total use in the tests).
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

/** Returns the path of Chromium; undefined if it is not installed. */
export function findChromium(): string | undefined {
  // the script in /usr/bin starts it through a shell, which does not forward a signal
  return ['/usr/lib/chromium/chromium'].find((path) => existsSync(path)) ?? findProgram(NAMES)
}

/** Starts Chromium headless, on a temporary profile that is deleted at the end. A browser that crashes is restarted. */
export function launchChromium(flags: readonly string[] = []): Promise<Browser> {
  return chromium.launch(launchOptions(flags)).catch(() => chromium.launch(launchOptions(flags)))
}

/** Builds the launch options; of two flags with one name the last counts. */
function launchOptions(flags: readonly string[] = []) {
  const executablePath = findChromium()
  if (executablePath === undefined) throw new Error('Chromium is not installed')
  return {
    executablePath,
    args: [...FLAGS, ...flags],
    // our tests end it when they are done, and Node's test runner when it is interrupted
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  }
}

/** Opens a context like a newly installed browser: no cookies, nothing stored. */
export async function openContext(browser: Browser, setup: Partial<ScreenSetup> = {}): Promise<BrowserContext> {
  const context = await browser.newContext(contextOptions(setup))
  context.setDefaultTimeout(TIMEOUT_MS)
  return context
}

/** Opens a context on a profile in this folder, which Chromium requires for features such as installing an app. */
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

function contextOptions(setup: Partial<ScreenSetup>) {
  const { size, scheme, locale, timeZone } = { ...DEFAULT_SETUP, ...setup }
  return {
    viewport: SIZES[size],
    hasTouch: true,
    colorScheme: scheme,
    locale,
    timezoneId: timeZone,
    reducedMotion: 'reduce' as const,
  }
}
