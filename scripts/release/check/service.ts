import { eventually } from '#shared/testing/eventually.ts'
import type { Machine } from './machine.ts'

/** Returns a systemd property of the gateway. */
export function state(machine: Machine, property: string, unit = 'cartbarn'): string {
  return machine.must(`systemctl show ${unit} --property=${property} --value`)
}

/** Returns the log of attempts to undo upgrades. */
export function swapBackLog(machine: Machine): string {
  return machine.must('journalctl -u cartbarn-swap-back --no-pager --output=cat')
}

/** Returns the health of the gateway, as an admin reads it. */
export function healthOf(
  machine: Machine,
  key: string,
): { status: string; last_check_at?: string; went_back?: { from: string; to: string; detail: string } } {
  return JSON.parse(machine.get('/health', 8080, `X-API-Key: ${key}`).split('\r\n\r\n')[1] ?? '')
}

/** Resolves when the gateway serves in a process other than `before`: after a kill systemd needs a moment to notice. */
export function servesAgain(machine: Machine, before: string, timeoutMs = 60_000): Promise<void> {
  return unitServesAgain(machine, { unit: 'cartbarn', port: 8080 }, before, timeoutMs)
}

/** Like `servesAgain`, for a hub. */
export function hubServesAgain(machine: Machine, before: string, timeoutMs = 60_000): Promise<void> {
  return unitServesAgain(machine, { unit: 'cartbarn-hub', port: 8090 }, before, timeoutMs)
}

async function unitServesAgain(
  machine: Machine,
  { unit, port }: { unit: string; port: number },
  before: string,
  timeoutMs: number,
): Promise<void> {
  const isNew = () => ![before, '0'].includes(state(machine, 'MainPID', unit))
  const isServing = () =>
    state(machine, 'ActiveState', unit) === 'active' && /^HTTP\/1\.1 200/.test(machine.get('/health', port))
  await eventually(() => isNew() && isServing(), 'another process that serves', timeoutMs)
}
