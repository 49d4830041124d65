import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bareEnvironment } from '#shared/testing/bare-environment.ts'
import type { AskedGateway } from './course/commanded-device.ts'
import { ADMIN_KEY, type Answer } from './start-gateway.ts'

const ENTRY = fileURLToPath(new URL('../../scripts/commands/cartbarn.ts', import.meta.url))

/** Gateway in a process of its own, which can be killed as by a power cut, and restarted with the same folder. */
export class KillableGateway implements AskedGateway {
  readonly dataDir: string
  #child: ChildProcess | undefined
  #http = ''
  #mqtt = ''

  private constructor(dataDir: string) {
    this.dataDir = dataDir
  }

  /** Starts one that is stopped after the test, and whose folder is deleted. */
  static async start(t: TestContext): Promise<KillableGateway> {
    const gateway = new KillableGateway(mkdtempSync(join(tmpdir(), 'cartbarn-killed-')))
    t.after(async () => {
      await gateway.kill()
      rmSync(gateway.dataDir, { recursive: true, force: true })
    })
    await gateway.start()
    return gateway
  }

  get mqtt(): string {
    return this.#mqtt
  }

  /** Resolves when it listens, on other ports than before. */
  async start(): Promise<void> {
    const env = bareEnvironment({
      CARTBARN_DATA_DIR: this.dataDir,
      CARTBARN_HOST: '127.0.0.1',
      CARTBARN_HTTP_PORT: '0',
      CARTBARN_MQTT_PORT: '0',
      CARTBARN_ADMIN_API_KEY: ADMIN_KEY,
      CARTBARN_REQUESTS_PER_SECOND: '0',
    })
    const child = spawn(process.execPath, [ENTRY, 'run'], { env, stdio: ['ignore', 'pipe', 'ignore'] })
    this.#child = child
    assert.ok(child.stdout !== null)
    for await (const line of createInterface({ input: child.stdout })) {
      const { msg, http, mqtt } = JSON.parse(line)
      if (msg !== 'listening') continue
      this.#http = http
      this.#mqtt = mqtt
      // keep reading, or the process would block on a full pipe
      child.stdout.resume()
      return
    }
    assert.fail('it ended')
  }

  /** Resolves when the process has ended. */
  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  /** Stops it cleanly. */
  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  /** Sends a request as the admin. */
  async request(method: string, path: string, { body }: { body?: unknown } = {}): Promise<Answer> {
    const response = await fetch(this.#http + path, {
      method,
      headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, body: await response.json() }
  }

  /** Registers a device; returns its MQTT password. */
  async register(hardwareId: string, deviceType = 'teebox'): Promise<string> {
    const fields = { hardware_id: hardwareId, device_type: deviceType }
    const { status, body } = await this.request('POST', '/devices', { body: fields })
    assert.equal(status, 201, JSON.stringify(body))
    return body.mqtt.password
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
}
