import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { eventually } from '#shared/testing/eventually.ts'

type Program = 'mosquitto_pub' | 'mosquitto_sub' | 'mosquitto_rr'

const TIMEOUT_MS = 45_000
const PRINTED = /^MESSAGE (\d) (\d) (\S+) (.*)$/

/** True if the clients of mosquitto are installed (Debian: mosquitto-clients). */
export function hasMosquittoClients(): boolean {
  return spawnSync('mosquitto_sub', ['--help'], { stdio: 'ignore' }).error === undefined
}

/** Message as received by `mosquitto_sub`. */
interface PrintedMessage {
  qos: number
  isRetained: boolean
  topic: string
  payload: string
}

/** Command-line clients of mosquitto, logged in to one broker: an independent implementation of the standard. */
export class MosquittoClients {
  readonly #arguments: string[]
  readonly #processes = new Set<ChildProcess>()

  /** Sets the broker; `caFile` is the trusted authority of an `mqtts://` address. */
  constructor(mqttUrl: string, username: string, password: string, caFile?: string) {
    const { hostname, port } = new URL(mqttUrl)
    this.#arguments = ['-h', hostname, '-p', port, '-u', username, '-P', password, '-V', 'mqttv311']
    if (caFile !== undefined) this.#arguments.push('--cafile', caFile)
  }

  /** Runs a client until it ends; returns its exit code and output. */
  async run(program: Program, ...args: string[]): Promise<{ code: number; output: string }> {
    const child = this.#spawn(program, args)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text) => (output += text))
    const [code] = await once(child, 'close', { signal: AbortSignal.timeout(TIMEOUT_MS) })
    return { code, output }
  }

  /** Starts `mosquitto_sub`; resolves when its subscription is acknowledged. */
  async subscribe(...args: string[]): Promise<MosquittoSubscriber> {
    const child = this.#spawn('mosquitto_sub', ['-d', '-F', 'MESSAGE %q %r %t %p', ...args])
    const subscriber = new MosquittoSubscriber(child)
    await eventually(() => subscriber.isSubscribed, 'subscribed')
    return subscriber
  }

  /** Kills running clients without DISCONNECT. */
  stop(): void {
    for (const child of this.#processes) child.kill('SIGKILL')
    this.#processes.clear()
  }

  #spawn(program: Program, args: string[]): ChildProcess {
    // line-buffered, because output to a pipe is block-buffered otherwise
    const command = ['-oL', program, ...this.#arguments, ...args]
    const child = spawn('stdbuf', command, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#processes.add(child)
    child.once('close', () => this.#processes.delete(child))
    return child
  }
}

/** Running `mosquitto_sub`. */
export class MosquittoSubscriber {
  readonly #child: ChildProcess
  readonly #messages: PrintedMessage[] = []
  isSubscribed = false

  constructor(child: ChildProcess) {
    this.#child = child
    const { stdout } = child
    if (stdout === null) throw new Error('its output is piped')
    createInterface({ input: stdout }).on('line', (line) => {
      if (line.startsWith('Subscribed')) this.isSubscribed = true
      const [isMessage, qos, retain, topic = '', payload = ''] = PRINTED.exec(line) ?? []
      if (isMessage !== undefined) this.#messages.push({ qos: Number(qos), isRetained: retain === '1', topic, payload })
    })
  }

  /** Returns the next message; rejects if none arrives in time. */
  async next(): Promise<PrintedMessage> {
    await eventually(() => this.#messages.length > 0, 'a message')
    const message = this.#messages.shift()
    if (message === undefined) throw new Error('no message')
    return message
  }

  /** Ends it: with `SIGINT` it sends DISCONNECT, with `SIGKILL` it does not. */
  async stop(signal: 'SIGINT' | 'SIGKILL'): Promise<void> {
    this.#child.kill(signal)
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'close')
  }
}
