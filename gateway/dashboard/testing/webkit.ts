import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { eventually } from '#shared/testing/eventually.ts'
import { freePort } from '#shared/testing/free-port.ts'
import { endProgram, startProgram } from './child-process.ts'
import { findProgram } from './programs.ts'
import { SIZES } from './screen-setups.ts'
import { WebDriver } from './web-driver.ts'

/** Path of WebKit's minimal browser on Debian. */
const BROWSERS = '/usr/{lib,libexec}/{*/,}webkit2gtk-4.*/MiniBrowser'
const TIMEOUT_MS = 30_000

/** Selectors by role; add others when a test needs them. */
const SELECTORS = {
  alert: '[role=alert]',
  button: 'button, [role=button]',
  dialog: 'dialog[open], [role=dialog]',
  heading: 'h1, h2, h3, h4, [role=heading]',
  link: 'a[href], [role=link]',
  searchbox: 'input[type=search], [role=searchbox]',
  status: '[role=status], output',
  textbox: 'input:not([type]), input[type=text], input[type=password], textarea, [role=textbox]',
} as const
type Role = keyof typeof SELECTORS

/**
 * Returns the first visible element of a selector whose name or text equals or contains the requested one; elements
 * outside a modal dialog cannot be pressed.
 */
const FIND = `
  const [selector, name, isExact, isPressed] = arguments
  const shown = (element) => element.checkVisibility({ visibilityProperty: true })
  const texts = (ids) => (ids ?? '').split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join(' ')
  const nameOf = (element) => (element.getAttribute('aria-label') || texts(element.getAttribute('aria-labelledby')).trim() ||
    [...(element.labels ?? [])].map((label) => label.textContent).join(' ') || element.textContent || '').replace(/\\s+/g, ' ').trim()
  const modal = [...document.querySelectorAll('dialog')].filter((one) => one.matches(':modal')).at(-1)
  const within = isPressed && modal !== undefined ? modal : document
  return [...within.querySelectorAll(selector)].find((element) => shown(element) &&
    (isExact ? nameOf(element) === name : nameOf(element).includes(name))) ?? null`

interface Programs {
  driver: string
  browser: string
  display: string
}

/** Finds WebKit's driver, its browser and a virtual display; undefined if one of them is not installed. */
export function findWebKit(): Programs | undefined {
  const [driver, display] = [findProgram(['WebKitWebDriver']), findProgram(['Xvfb'])]
  const browser = globSync(BROWSERS).at(0)
  if (driver === undefined || display === undefined || browser === undefined) return undefined
  return { driver, display, browser }
}

/** WebKit, the engine of Safari, on a virtual display. */
export class WebKit {
  readonly #driver: WebDriver
  readonly #processes: readonly ChildProcess[]
  readonly #folder: string

  private constructor(driver: WebDriver, processes: readonly ChildProcess[], folder: string) {
    this.#driver = driver
    this.#processes = processes
    this.#folder = folder
  }

  static async start(): Promise<WebKit> {
    const programs = findWebKit()
    if (programs === undefined) throw new Error('WebKit is not installed')
    const folder = mkdtempSync(join(tmpdir(), 'cartbarn-webkit-'))
    const processes: ChildProcess[] = []
    try {
      const display = startProgram(programs.display, ['-displayfd', '3', '-screen', '0', '1280x1024x24'], {
        stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      })
      processes.push(display)
      const port = await freePort()
      const env = { ...process.env, ...privateTo(folder), DISPLAY: `:${await numberOf(display)}` }
      const host = '127.0.0.1'
      processes.push(startProgram(programs.driver, [`--host=${host}`, `--port=${port}`], { env, stdio: 'ignore' }))
      const url = `http://${host}:${port}`
      await eventually(() => isReady(url), 'WebKitWebDriver answers', TIMEOUT_MS)
      const driver = await WebDriver.open(url, {
        'webkitgtk:browserOptions': { binary: programs.browser, args: ['--automation'] },
      })
      await driver.resize(SIZES.tablet.width, SIZES.tablet.height)
      return new WebKit(driver, processes, folder)
    } catch (error) {
      for (const started of processes.toReversed()) await endProgram(started)
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  go(url: string): Promise<void> {
    return this.#driver.go(url)
  }

  run(script: string, ...args: unknown[]): Promise<unknown> {
    return this.#driver.run(script, ...args)
  }

  /** Waits for a visible element of this role with this name. */
  async waitFor(role: Role, name: string): Promise<void> {
    await this.#find(role, name, false)
  }

  /** Waits until no such element is visible. */
  async waitUntilGone(role: Role, name: string): Promise<void> {
    await eventually(async () => !(await this.has(role, name)), `no ${role} ${name}`, TIMEOUT_MS)
  }

  async click(role: Role, name: string): Promise<void> {
    await this.#driver.click(await this.#find(role, name, true))
  }

  /** Presses at a place of the window, in CSS pixels. */
  pressAt(x: number, y: number): Promise<void> {
    return this.#driver.pressAt(x, y)
  }

  /** True if an element of this role with this name is visible now. */
  async has(role: Role, name: string): Promise<boolean> {
    return (await this.#driver.find(FIND, SELECTORS[role], name, false, false)) !== undefined
  }

  async type(role: Role, name: string, text: string): Promise<void> {
    await this.#driver.type(await this.#find(role, name, true), text)
  }

  async keepPicture(path: string): Promise<void> {
    writeFileSync(path, await this.#driver.screenshot())
  }

  async stop(): Promise<void> {
    // a crashed browser has no session to close
    await this.#driver.close().catch(() => undefined)
    for (const started of this.#processes.toReversed()) await endProgram(started)
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
  }

  /** Finds an element; a pressed one must have exactly this name, an awaited text may have more around it. */
  async #find(role: Role, name: string, isPressed: boolean): Promise<string> {
    let found: string | undefined
    const isThere = async () => {
      found = await this.#driver.find(FIND, SELECTORS[role], name, isPressed, isPressed)
      return found !== undefined
    }
    await eventually(isThere, `${role} ${name}`, TIMEOUT_MS)
    if (found === undefined) throw new Error('it was there')
    return found
  }
}

/** Keeps the browser's data private to the folder, so that nothing remains and nothing earlier is found. */
function privateTo(folder: string): Record<string, string> {
  const homes = { HOME: folder, XDG_CACHE_HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder }
  return {
    ...homes,
    GDK_BACKEND: 'x11',
    NO_AT_BRIDGE: '1',
    LIBGL_ALWAYS_SOFTWARE: '1',
    http_proxy: '',
    all_proxy: '',
  }
}

/** Returns the display number that Xvfb has chosen, which it writes once the display is ready. */
async function numberOf(display: ChildProcess): Promise<number> {
  // its fourth stream is a pipe, see above
  const stream = display.stdio[3] as Readable
  const [line] = await once(stream, 'data', { signal: AbortSignal.timeout(TIMEOUT_MS) })
  return Number(String(line).trim())
}

async function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/status`).then(
    ({ ok }) => ok,
    () => false,
  )
}
