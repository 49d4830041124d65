import { toCsv } from './csv.ts'

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

/** Where devices find the broker unless told otherwise: on the host of this page, without TLS. */
export function usualBroker(hostname: string): string {
  return `mqtt://${hostname}:1883`
}

export function toCredentialsCsv(mqtt: string, credentials: readonly Credential[]): string {
  return toCsv([
    ['hardware_id', 'name', 'cart', 'mqtt', 'username', 'password'],
    ...credentials.map(({ hardwareId, name, cart, password }) => [
      ...[hardwareId, name, cart, mqtt, hardwareId, password],
    ]),
  ])
}
