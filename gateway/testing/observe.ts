import type { TestGateway } from './start-gateway.ts'

const TIMEOUT_MS = 8_000

/** The value of one line of `/metrics`; 0 when it is not there yet. */
export async function metric(gateway: TestGateway, name: string, label?: string): Promise<number> {
  const { body } = await gateway.request('GET', '/metrics')
  const lines: string[] = body.split('\n')
  const isWanted = (line: string) =>
    label === undefined ? line.startsWith(`${name} `) : line.startsWith(name) && line.includes(`="${label}"}`)
  return Number(lines.find(isWanted)?.split(' ').at(-1) ?? 0)
}

/** Asks again, a turn of the event loop later, until the answer is yes: for what nobody announces. */
export async function eventually(
  isTrue: () => boolean | Promise<boolean>,
  what: string,
  timeoutMs = TIMEOUT_MS,
): Promise<void> {
  const endsAtMs = Date.now() + timeoutMs
  while (!(await isTrue())) {
    if (Date.now() > endsAtMs) throw new Error(`not in time: ${what}`)
    await new Promise(setImmediate)
  }
}
