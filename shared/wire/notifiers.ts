import { z } from 'zod'
import { isoSchema } from './schema/params.ts'
import { deliveryFields, sentKindsSchema, wantedKindsSchema, webUrlFault } from './webhooks.ts'

const NOTIFIER_CHANNELS = ['email', 'ntfy', 'telegram'] as const
export type NotifierChannel = (typeof NOTIFIER_CHANNELS)[number]

/** Fault of a field whose meaning depends on the channel. */
export interface FieldFault {
  code: 'invalid_field' | 'invalid_url' | 'missing_field'
  detail: string
}

/** Single address without syntax that a mail server would interpret. */
const EMAIL = /^[^\s@<>()[\]\\,;:"\p{C}]{1,64}@[^\s@<>()[\]\\,;:"\p{C}]{1,255}$/u
const CHAT = /^[^\s\p{C}]{1,128}$/u
/** Restricted to characters that are safe in a path. */
const BOT_TOKEN = /^[A-Za-z0-9:._~-]{1,200}$/
/** Restricted to characters that are safe in a header. */
const BEARER_TOKEN = /^[\x21-\x7e]{1,500}$/

const RECIPIENT_FAULTS: Record<NotifierChannel, (to: string) => FieldFault | null> = {
  email: (to) => fault('invalid_field', EMAIL.test(to) ? null : 'must be one e-mail address'),
  ntfy: (to) => fault('invalid_url', webUrlFault(to)),
  telegram: (to) => fault('invalid_field', CHAT.test(to) ? null : 'must be a chat id'),
}

const TOKEN_FAULTS: Record<NotifierChannel, (token: string | null) => FieldFault | null> = {
  email: (token) => fault('invalid_field', token === null ? null : 'is not supported for e-mail'),
  ntfy: (token) =>
    fault(
      'invalid_field',
      token === null || BEARER_TOKEN.test(token) ? null : 'must be visible ASCII characters without spaces',
    ),
  telegram: (token) =>
    token === null
      ? { code: 'missing_field', detail: 'is required: the token of the bot' }
      : fault('invalid_field', BOT_TOKEN.test(token) ? null : 'must be a bot token'),
}

function fault(code: FieldFault['code'], detail: string | null): FieldFault | null {
  return detail === null ? null : { code, detail }
}

/** Faults of the recipient and the credentials of a notifier, by field. */
export function recipientFaults(
  channel: NotifierChannel,
  to: string,
  token: string | null,
): (FieldFault & { name: 'to' | 'token' })[] {
  const [toFault, tokenFault] = [RECIPIENT_FAULTS[channel](to), TOKEN_FAULTS[channel](token)]
  return [
    ...(toFault === null ? [] : [{ ...toFault, name: 'to' as const }]),
    ...(tokenFault === null ? [] : [{ ...tokenFault, name: 'token' as const }]),
  ]
}

const TIME = /^([01]\d|2[0-3]):[0-5]\d$|^24:00$/
const timeSchema = z
  .string()
  .regex(TIME, 'must be HH:MM, 00:00 to 24:00')
  .meta({ description: 'Time of day as HH:MM, 00:00 to 24:00.', example: '20:00' })

const channelSchema = z
  .enum(NOTIFIER_CHANNELS)
  .meta({ description: 'Channel; email requires CARTBARN_SMTP_URL and CARTBARN_SMTP_FROM.' })
const toSchema = z.string().max(2_000).meta({
  description: 'Recipient: an e-mail address, the URL of an ntfy topic, or the id of a Telegram chat.',
  example: 'greenkeeper@club.example',
})
const betweenSchema = z
  .tuple([timeSchema, timeSchema])
  .refine(([from, to]) => from !== to, 'must be two different times')
  .nullable()
  .meta({
    description:
      'Limits notifications to alerts opened between these local times of the site, also across midnight; others ' +
      'are not sent later. Null means always.',
    example: ['20:00', '07:00'],
  })
const afterSchema = z.number().min(0).max(1_440).nullable().meta({
  description:
    'Sends only alerts that are still unacknowledged after this number of minutes; null sends open alerts after 30 s.',
  example: 10,
})
const tokenSchema = z.string().min(1).max(500).nullable().meta({
  description: 'Token of the Telegram bot, or of a protected ntfy topic. Never returned.',
})

export const notifierSchema = z
  .object({
    notifier_id: z.string().meta({
      description: 'Id of the notifier.',
      example: 'b8d2c1ef-5c3e-4a7a-9a44-0a4f5a0f2d11',
    }),
    channel: channelSchema,
    to: toSchema,
    kinds: sentKindsSchema,
    between: betweenSchema,
    after_unacknowledged_min: afterSchema,
    ...deliveryFields,
  })
  .meta({ id: 'Notifier' })
export type NotifierJson = z.infer<typeof notifierSchema>

const optionalFields = {
  token: tokenSchema.optional(),
  kinds: wantedKindsSchema.optional(),
  between: betweenSchema.optional(),
  after_unacknowledged_min: afterSchema.optional(),
}

export const newNotifierSchema = z
  .strictObject({ channel: channelSchema, to: toSchema, ...optionalFields })
  .superRefine(({ channel, to, token = null }, ctx) => {
    for (const { name, code, detail } of recipientFaults(channel, to, token))
      ctx.addIssue({ code: 'custom', message: detail, path: [name], params: { code } })
  })
  .meta({ id: 'NewNotifier' })

/** RFC 7396: absent is unchanged; null is the default, and rejected for `to`. */
export const notifierPatchSchema = z
  .strictObject({ to: toSchema.optional(), ...optionalFields })
  .meta({ id: 'NotifierPatch', description: 'Patch of a notifier; absent fields stay unchanged.' })

export const createdNotifierSchema = z.object({ notifier: notifierSchema }).meta({ id: 'CreatedNotifier' })

export const deletedNotifierSchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'notifier_id' }),
})

const REPORTS = ['day', 'month'] as const
const LANGUAGES = ['en', 'de'] as const

/** Fields of a report by e-mail that an admin can set. */
export interface MailReportFields {
  recipient: string
  report: (typeof REPORTS)[number]
  /** `closing`, or HH:MM. */
  at: string
  /** Null for that of the site. */
  language: (typeof LANGUAGES)[number] | null
}

const mailFields = {
  to: z
    .string()
    .max(320)
    .refine((to) => EMAIL.test(to), 'must be one e-mail address')
    .meta({ description: 'E-mail address.', example: 'manager@club.example' }),
  report: z.enum(REPORTS).meta({ description: 'Period of the report.' }),
  at: z
    .string()
    .regex(/^(closing|([01]\d|2[0-3]):[0-5]\d)$/, 'must be closing, or HH:MM')
    .meta({
      description:
        'Local time as HH:MM: of the next day, for a month of its first day. closing: half an hour after closing, ' +
        'for that day.',
      example: '06:00',
    }),
  language: z.enum(LANGUAGES).meta({ description: 'Language; default that of the site.' }),
}

export const mailReportSchema = z
  .object({
    report_id: z.string().meta({ description: 'Id of the report.' }),
    ...mailFields,
    created_at: isoSchema,
    last_sent_at: isoSchema.nullable().meta({ description: 'Time of the last mail; null before the first.' }),
    last_for: z.string().nullable().meta({ description: 'Newest day or month that was sent.', example: '2026-05-01' }),
    last_error: z
      .string()
      .nullable()
      .meta({ description: 'Reason for which the last attempt failed; null after a success.' }),
    next_at: isoSchema
      .nullable()
      .meta({ description: 'Time of the next mail; null for closing without opening hours.' }),
  })
  .meta({ id: 'MailReport' })
export type MailReportJson = z.infer<typeof mailReportSchema>

/** A month has no closing. */
function requireDay({ report, at }: { report: string; at?: string | undefined }, ctx: z.core.$RefinementCtx): void {
  if (report === 'month' && at === 'closing')
    ctx.addIssue({ code: 'custom', message: 'closing is for a day', path: ['at'], params: { code: 'invalid_field' } })
}

export const newMailReportSchema = z
  .strictObject({ ...mailFields, at: mailFields.at.optional(), language: mailFields.language.nullish() })
  .superRefine(requireDay)
  .meta({ id: 'NewMailReport' })

/** RFC 7396: absent is unchanged; null is the default. */
export const mailReportPatchSchema = z
  .strictObject({
    to: mailFields.to.optional(),
    report: mailFields.report.optional(),
    at: mailFields.at.nullish(),
    language: mailFields.language.nullish(),
  })
  .meta({ id: 'MailReportPatch', description: 'Patch of a report by e-mail; absent fields stay unchanged.' })

export const createdMailReportSchema = z.object({ report: mailReportSchema }).meta({ id: 'CreatedMailReport' })

export const deletedMailReportSchema = z.object({
  success: z.literal(true),
  deleted: z.string().meta({ description: 'report_id' }),
})
