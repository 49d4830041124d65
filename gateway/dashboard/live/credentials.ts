import { type Language, toCsv } from './csv.ts'

/** Login of a device, with the names that people use for it. */
export interface Credential {
  hardwareId: string
  password: string
  name: string | null
  cart: string | null
}

/** Builds the content of a device's QR code for the installer; user name and client id equal the hardware_id. */
export function toQrText(mqtt: string, { hardwareId, password }: Credential): string {
  return JSON.stringify({ mqtt, hardware_id: hardwareId, password })
}

/**
 * Returns the addresses at which devices may reach the broker, the most likely first. The host of this page comes
 * first, because devices can reach it too, unless only the gateway's computer has it.
 */
export function brokerChoices(hostname: string, addresses: readonly string[]): string[] {
  const here = isLoopbackHost(hostname) ? [] : addresses.map((url) => url.replace(/\/\/.*:/, `//${hostname}:`))
  return [...new Set([...here, ...addresses])].sort((a, b) => Number(isLoopback(a)) - Number(isLoopback(b)))
}

/** True for an address that only the gateway's own computer can reach. */
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
