import { hash, randomBytes, randomInt, randomUUID, timingSafeEqual } from 'node:crypto'
import { isOneLine, ONE_LINE_PATTERN } from './plain-text.ts'

const SHORT_ID_ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'
const SHORT_ID_LENGTH = 8

/** 1 to 64 characters; a colon is allowed inside, as in a MAC address, but not at either end. */
export const HARDWARE_ID = /^(?!:)[A-Za-z0-9._:-]{1,64}(?<!:)$/
/** `active` is a path of trips; `.` and `..` are path segments to programs that normalise URLs. */
const RESERVED_IDS = new Set(['active', '.', '..'])

/** Maximum id of a group, and of the geofences that share numbers with groups. */
export const MAX_GROUP_ID = Number.MAX_SAFE_INTEGER

/** True if the text is a valid hardware id, which serves as MQTT user name, topic level and URL segment. */
export function isHardwareId(text: string): boolean {
  return HARDWARE_ID.test(text) && !RESERVED_IDS.has(text)
}

export const CART_MAX = 16
/** Stands for the site as a whole in the position of the cart in alerts. */
const RESERVED_CART = 'site'
/** Equivalent pattern of JSON Schema, without the length. */
export const CART_PATTERN = ONE_LINE_PATTERN.replace('^', `^(?!\\s*${RESERVED_CART}\\s*$)`)

/** True if the trimmed text is a valid cart name: 1 to 16 characters, on one line, not `site`. */
export function isCartName(text: string): boolean {
  const length = [...text].length
  if (length < 1 || length > CART_MAX || text === RESERVED_CART) return false
  // used in URLs and topics, where a lone surrogate cannot be encoded
  return isOneLine(text)
}

export function newShortId(): string {
  return Array.from({ length: SHORT_ID_LENGTH }, () => SHORT_ID_ALPHABET[randomInt(SHORT_ID_ALPHABET.length)]).join('')
}

/** Creates an API key: 32 random bytes, shown once, stored only as a hash. */
export function newApiKey(): string {
  return `flt_${randomBytes(32).toString('base64url')}`
}

/** Creates the key of a hub user: 32 random bytes, shown once, stored only as a hash. */
export function newHubKey(): string {
  return `cbh_${randomBytes(32).toString('base64url')}`
}

/** Creates a device's MQTT password: 24 random bytes, shown once, stored as a hash; never like an option after `-P`. */
export function newMqttPassword(): string {
  const password = randomBytes(24).toString('base64url')
  return password.startsWith('-') ? newMqttPassword() : password
}

export function newUuid(): string {
  return randomUUID()
}

/**
 * Stored form of a secret. A plain SHA-256 is sufficient because every secret has at least 24 characters and nearly all
 * are random bytes: there is no dictionary to slow down, and thousands of devices log in together after a power cut.
 */
export function hashSecret(secret: string | Buffer): string {
  return hash('sha256', secret, 'hex')
}

export function hashesEqual(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}

/** Id of a device's zone entry or exit, derived from what identifies it, so that recomputation yields the same id. */
export function geofenceEventId(hardwareId: string, zoneId: string, kind: string, atMs: number): string {
  return hash('sha256', JSON.stringify([hardwareId, zoneId, kind, atMs]), 'hex').slice(0, 32)
}

export type TelemetryStream = 'gps' | 'battery'

/** 72 bits in base64url. */
const PREFIX_LENGTH = 12
const AT_DIGITS = 9

/** Returns the common prefix of all record ids of a device's stream; see `recordId`. */
export function recordIdPrefix(hardwareId: string, stream: TelemetryStream): string {
  return hash('sha256', `${stream}/${hardwareId}`, 'base64url').slice(0, PREFIX_LENGTH)
}

/**
 * Id of a telemetry record. Derived, never stored: (device, stream, time) is unique, so a record has the same id
 * permanently, in the gateway and in the hub. 72 bits of device and stream, then the time in base 36.
 */
export function recordId(prefix: string, atMs: number): string {
  return prefix + atMs.toString(36).padStart(AT_DIGITS, '0')
}
