import { z } from 'zod'
import { upstreamUrlFault } from '#agent/upstream.ts'
import { TIME_SOURCES, type TimeSource } from '#domain/clock-state.ts'
import type { MailSettings } from '#services/notifications/mailer.ts'
import { count, missingFaults, PREFIX, type SettingValues, secretFile } from '#shared/wire/settings.ts'
import { webUrlFault } from '#shared/wire/webhooks.ts'

function isMailServer(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && /^smtps?:$/.test(url.protocol) && url.hostname !== ''
}

const namesIn = (text: string) => text.split(',').map((name) => name.trim())
const timeSources = z
  .string()
  .refine(
    // widened, to test any text against the list
    (text) => namesIn(text).every((name) => (TIME_SOURCES as readonly string[]).includes(name)),
    `must be some of ${TIME_SOURCES.join(', ')}, comma-separated`,
  )
  .transform((text): readonly TimeSource[] => TIME_SOURCES.filter((name) => namesIn(text).includes(name)))

export const REMOTE = {
  /** Sources that may confirm the clock; an admin always may. */
  CLOCK_CONFIRMED_BY: {
    schema: timeSources.prefault(TIME_SOURCES.join(',')),
    help:
      'time sources that may confirm the clock after a start, which locks and alerts wait for; comma-separated; ' +
      'admin always may',
  },
  SMTP_URL: {
    schema: z
      .string()
      .refine(isMailServer, 'must be smtp://HOST or smtps://HOST, optionally with user, password and port')
      .optional(),
    help: 'mail server for e-mail notifications, such as smtps://user:password@mail.example; without it none are sent',
    part: 'mail',
  },
  SMTP_URL_FILE: secretFile('SMTP_URL'),
  SMTP_FROM: {
    schema: z
      .string()
      .regex(/^[^\p{C}]*[^\s@\p{C}]@[^\s@\p{C}]+$/u, {
        error: 'must be an e-mail address, optionally after a name',
      })
      .optional(),
    help: 'sender of e-mail notifications, such as Golf carts <carts@club.example>',
    part: 'mail',
  },
  /** Without a trailing slash. */
  TELEGRAM_URL: {
    schema: z
      .string()
      .refine((text) => webUrlFault(text) === null, 'must be an http:// or https:// address without a user in it')
      .transform((text) => text.replace(/\/+$/, ''))
      .default('https://api.telegram.org'),
    help: 'address of the Telegram API for notifications',
  },
  UPSTREAM_URL: {
    schema: z.string().min(1).optional(),
    help: 'https:// address of the hub that this gateway replicates to; without it there is no replication',
    part: 'upstream',
  },
  UPSTREAM_KEY: {
    schema: z
      .string()
      .regex(/^cbs_[a-z0-9-]{1,32}_[A-Za-z0-9_-]{43}$/, { error: 'must be a site key of the hub' })
      .optional(),
    help: 'site key that the hub issued for this gateway',
    part: 'upstream',
  },
  UPSTREAM_KEY_FILE: secretFile('UPSTREAM_KEY'),
  SITE_ID: {
    schema: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/, { error: 'must be 1 to 32 lower-case letters, digits or hyphens' })
      .optional(),
    help: 'site id of this gateway at the hub',
    part: 'upstream',
  },
  UPSTREAM_INTENTS: {
    schema: z.enum(['none', 'config', 'all']).default('config'),
    help: 'intents of the hub that are applied: none, config (all except commands to devices), or all',
  },
  UPSTREAM_INSECURE: {
    schema: z.enum(['true', 'false']).default('false'),
    help: 'true sends the site key and all data over plain http://, where others on the path can read them',
    part: 'upstream',
  },
  UPSTREAM_HOLD_MS: {
    schema: count(0, 60_000).default(6_500),
    help:
      'milliseconds for which new positions are collected before they are sent to the hub; fewer send sooner, and ' +
      'more bytes',
    part: 'upstream',
  },
  UPSTREAM_RETRY_S: {
    schema: count(1, 3_600).default(300),
    help: 'longest interval, in seconds, between attempts to reach a hub that does not respond',
    part: 'upstream',
  },
} as const

type Remote = SettingValues<typeof REMOTE>

interface RemoteConfig {
  /** Undefined: no e-mail. */
  mail: MailSettings | undefined
  /** Undefined: no hub. */
  upstream:
    | {
        url: string
        key: string
        siteId: string
        isInsecureAllowed: boolean
        holdMs: number
        longestBackoffMs: number
      }
    | undefined
}

/** Derives the parts of the configuration that differ from the settings. */
export function remoteOf(s: Remote): RemoteConfig {
  return {
    mail: s.SMTP_URL === undefined || s.SMTP_FROM === undefined ? undefined : { url: s.SMTP_URL, from: s.SMTP_FROM },
    upstream:
      s.UPSTREAM_URL === undefined || s.UPSTREAM_KEY === undefined || s.SITE_ID === undefined
        ? undefined
        : {
            url: s.UPSTREAM_URL,
            key: s.UPSTREAM_KEY,
            siteId: s.SITE_ID,
            isInsecureAllowed: s.UPSTREAM_INSECURE === 'true',
            holdMs: s.UPSTREAM_HOLD_MS,
            longestBackoffMs: s.UPSTREAM_RETRY_S * 1000,
          },
  }
}

/** Returns contradictions between settings, one line each. */
export function remoteFaults({ SMTP_URL, SMTP_FROM, ...settings }: Remote): string[] {
  const { UPSTREAM_URL, UPSTREAM_KEY, SITE_ID, UPSTREAM_INSECURE } = settings
  const lines = [...missingFaults({ SMTP_URL, SMTP_FROM }), ...missingFaults({ UPSTREAM_URL, UPSTREAM_KEY, SITE_ID })]
  if (UPSTREAM_INSECURE === 'true' && UPSTREAM_URL === undefined)
    lines.push(`${PREFIX}UPSTREAM_INSECURE: has no effect without ${PREFIX}UPSTREAM_URL`)
  if (UPSTREAM_URL !== undefined) {
    const fault = upstreamUrlFault(UPSTREAM_URL, UPSTREAM_INSECURE === 'true')
    if (fault !== null) lines.push(`${PREFIX}UPSTREAM_URL: ${fault}`)
  }
  if (UPSTREAM_KEY !== undefined && SITE_ID !== undefined && !UPSTREAM_KEY.startsWith(`cbs_${SITE_ID}_`))
    lines.push(`${PREFIX}SITE_ID: is not the site of ${PREFIX}UPSTREAM_KEY`)
  return lines
}
