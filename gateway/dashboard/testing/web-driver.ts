import { z } from 'zod'

/** Key of an element in responses. Source: W3C WebDriver, 12. */
const ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'
const TIMEOUT_MS = 60_000

const answerSchema = z.object({ value: z.unknown() })
const sessionSchema = z.object({ sessionId: z.string() })
const faultSchema = z.object({ error: z.string(), message: z.string() })
const elementSchema = z.object({ [ELEMENT]: z.string() }).transform((found) => found[ELEMENT] ?? '')

/** Browser controlled over W3C WebDriver, limited to the requests that our tests need. */
export class WebDriver {
  readonly #url: string

  private constructor(url: string) {
    this.#url = url
  }

  /** Opens a session with the driver at this address. */
  static async open(driverUrl: string, capabilities: object): Promise<WebDriver> {
    const body = { capabilities: { alwaysMatch: capabilities } }
    const { sessionId } = sessionSchema.parse(await ask('POST', `${driverUrl}/session`, body))
    return new WebDriver(`${driverUrl}/session/${sessionId}`)
  }

  async go(url: string): Promise<void> {
    await ask('POST', `${this.#url}/url`, { url })
  }

  async resize(width: number, height: number): Promise<void> {
    await ask('POST', `${this.#url}/window/rect`, { width, height })
  }

  /** Runs the body of a function in the page; resolves with its return value. */
  run(script: string, ...args: unknown[]): Promise<unknown> {
    return ask('POST', `${this.#url}/execute/sync`, { script, args })
  }

  /** Returns the id of the element that the body of a function returns; undefined for null. */
  async find(script: string, ...args: unknown[]): Promise<string | undefined> {
    const found = await this.run(script, ...args)
    return found === null ? undefined : elementSchema.parse(found)
  }

  async click(element: string): Promise<void> {
    await ask('POST', `${this.#url}/element/${element}/click`, {})
  }

  /** Presses at a place of the window, in CSS pixels. */
  async pressAt(x: number, y: number): Promise<void> {
    const at = { type: 'pointerMove', duration: 0, x: Math.round(x), y: Math.round(y) }
    const press = [
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ]
    const pointer = { type: 'pointer', id: 'mouse', parameters: { pointerType: 'mouse' } }
    await ask('POST', `${this.#url}/actions`, { actions: [{ ...pointer, actions: [at, ...press] }] })
  }

  /** Types into a field, replacing its text. */
  async type(element: string, text: string): Promise<void> {
    await ask('POST', `${this.#url}/element/${element}/clear`, {})
    await ask('POST', `${this.#url}/element/${element}/value`, { text })
  }

  /** Takes a PNG screenshot of the window. */
  async screenshot(): Promise<Buffer> {
    return Buffer.from(z.string().parse(await ask('GET', `${this.#url}/screenshot`)), 'base64')
  }

  async close(): Promise<void> {
    await ask('DELETE', this.#url)
  }
}

/** Throws with the driver's error message. */
async function ask(method: string, url: string, body?: object): Promise<unknown> {
  const response = await fetch(url, {
    method,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { value } = answerSchema.parse(await response.json())
  if (response.ok) return value
  const { error, message } = faultSchema.parse(value)
  throw new Error(`${method} ${new URL(url).pathname}: ${error}: ${message}`)
}
