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
const witnesses = z
  .string()
  .refine(
    // wider, to ask whether any text is one
    (text) => namesIn(text).every((name) => (TIME_SOURCES as readonly string[]).includes(name)),
    `must be some of ${TIME_SOURCES.join(', ')}, comma-separated`,
  )
  .transform((text): readonly TimeSource[] => TIME_SOURCES.filter((name) => namesIn(text).includes(name)))

/** Who confirms the clock, where messages to people go, and the head office. */
export const REMOTE = {
  /** Who may say that the clock is right; an admin always may. */
  CLOCK_CONFIRMED_BY: {
    schema: witnesses.prefault(TIME_SOURCES.join(',')),
    help:
      'who confirms the clock after a start, so that locks and alerts may act by it; comma-separated; admin always ' +
      'does',
  },
  SMTP_URL: {
    schema: z
      .string()
      .refine(isMailServer, 'must be smtp://HOST or smtps://HOST, with user, password and port or not')
      .optional(),
    help: 'mail server for notifiers by e-mail, as smtps://user:password@mail.example; none without it',
    part: 'mail',
  },
  SMTP_URL_FILE: secretFile('SMTP_URL'),
  SMTP_FROM: {
    schema: z
      .string()
      .regex(/^[^\p{C}]*[^\s@\p{C}]@[^\s@\p{C}]+$/u, {
        error: 'must be an e-mail address, with a name before it or not',
      })
      .optional(),
    help: 'whom e-mail of notifiers is from, as Golf carts <carts@club.example>',
    part: 'mail',
  },
  /** Without a slash at its end. */
  TELEGRAM_URL: {
    schema: z
      .string()
      .refine((text) => webUrlFault(text) === null, 'must be an http:// or https:// address without a user in it')
      .transform((text) => text.replace(/\/+$/, ''))
      .default('https://api.telegram.org'),
    help: 'where notifiers by Telegram are sent',
  },
  UPSTREAM_URL: {
    schema: z.string().min(1).optional(),
    help: 'https:// address of the head office this gateway is replicated to; none without it',
    part: 'upstream',
  },
  UPSTREAM_KEY: {
    schema: z
      .string()
      .regex(/^cbs_[a-z0-9-]{1,32}_[A-Za-z0-9_-]{43}$/, { error: 'must be a site key of the head office' })
      .optional(),
    help: 'the site key the head office has given out for this gateway',
    part: 'upstream',
  },
  UPSTREAM_KEY_FILE: secretFile('UPSTREAM_KEY'),
  SITE_ID: {
    schema: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/, { error: 'must be 1 to 32 lower-case letters, digits or hyphens' })
      .optional(),
    help: 'which site of the head office this gateway is',
    part: 'upstream',
  },
  /** Which intents of the head office are applied. */
  UPSTREAM_INTENTS: {
    schema: z.enum(['none', 'config', 'all']).default('config'),
    help: 'what the head office may do here: none, config (all but commands to devices), or all',
  },
  UPSTREAM_INSECURE: {
    schema: z.enum(['true', 'false']).default('false'),
    help: 'true lets the site key and all data travel over plain http://, where anybody on the way can read them',
    part: 'upstream',
  },
  UPSTREAM_HOLD_MS: {
    schema: count(0, 60_000).default(6_500),
    help:
      'milliseconds that new positions wait for others to go to the head office with; fewer are sooner there, and ' +
      'more bytes',
    part: 'upstream',
  },
  UPSTREAM_RETRY_S: {
    schema: count(1, 3_600).default(300),
    help: 'seconds between two attempts to reach a head office that does not answer, at most',
    part: 'upstream',
  },
} as const

type Remote = SettingValues<typeof REMOTE>

interface RemoteConfig {
  /** Undefined: no e-mail. */
  mail: MailSettings | undefined
  /** Undefined: there is no head office. */
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

/** Parts of the configuration that are not settings as they were read. */
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

/** Contradictions between settings, a line each. */
export function remoteFaults({ SMTP_URL, SMTP_FROM, ...settings }: Remote): string[] {
  const { UPSTREAM_URL, UPSTREAM_KEY, SITE_ID, UPSTREAM_INSECURE } = settings
  const lines = [...missingFaults({ SMTP_URL, SMTP_FROM }), ...missingFaults({ UPSTREAM_URL, UPSTREAM_KEY, SITE_ID })]
  if (UPSTREAM_INSECURE === 'true' && UPSTREAM_URL === undefined)
    lines.push(`${PREFIX}UPSTREAM_INSECURE: means nothing without ${PREFIX}UPSTREAM_URL`)
  if (UPSTREAM_URL !== undefined) {
    const fault = upstreamUrlFault(UPSTREAM_URL, UPSTREAM_INSECURE === 'true')
    if (fault !== null) lines.push(`${PREFIX}UPSTREAM_URL: ${fault}`)
  }
  if (UPSTREAM_KEY !== undefined && SITE_ID !== undefined && !UPSTREAM_KEY.startsWith(`cbs_${SITE_ID}_`))
    lines.push(`${PREFIX}SITE_ID: is not the site that ${PREFIX}UPSTREAM_KEY was given out for`)
  return lines
}
