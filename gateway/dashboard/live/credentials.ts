import { type Language, toCsv } from './csv.ts'

/** What a device logs in with, and what people call it. */
export interface Credential {
  hardwareId: string
  password: string
  name: string | null
  cart: string | null
}

/** What the QR code of a device says to whoever fits it; its user name and client id are the hardware_id. */
export function toQrText(mqtt: string, { hardwareId, password }: Credential): string {
  return JSON.stringify({ mqtt, hardware_id: hardwareId, password })
}

/**
 * The addresses at which devices may find the broker, the likeliest first: this page was found by its own host, so
 * devices find that too, unless it is one that only the gateway's computer has.
 */
export function brokerChoices(hostname: string, addresses: readonly string[]): string[] {
  const here = isLoopbackHost(hostname) ? [] : addresses.map((url) => url.replace(/\/\/.*:/, `//${hostname}:`))
  return [...new Set([...here, ...addresses])].sort((a, b) => Number(isLoopback(a)) - Number(isLoopback(b)))
}

/** True of an address that only the computer of the gateway itself reaches. */
export function isLoopback(broker: string): boolean {
  const [, host = ''] = /^(?:\w+:\/\/)?(\[[^\]]*\]|[^:/]+)/.exec(broker.trim()) ?? []
  return isLoopbackHost(host)
}

function isLoopbackHost(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host)
}

export function toCredentialsCsv(mqtt: string, credentials: readonly Credential[], language: Language): string {
  const rows = credentials.map(({ hardwareId, name, cart, password }) => [
    hardwareId,
    name,
    cart,
    mqtt,
    hardwareId,
    password,
  ])
  return toCsv([['hardware_id', 'name', 'cart', 'mqtt', 'username', 'password'], ...rows], language)
}
