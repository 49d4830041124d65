import { PassThrough } from 'node:stream'
import type { Transporter } from 'nodemailer'
import { describeError } from '#shared/errors.ts'
import { MINUTE_MS } from '#shared/time.ts'
import { UnknownOutcome } from './retries.ts'

/** Mail server for notifications; undefined settings disable e-mail. */
export interface MailSettings {
  /** Begins with smtp:// or smtps://, and contains user and password if the server requires them. */
  url: string
  from: string
}

export interface Mail {
  to: string
  subject: string
  text: string
  html?: string
  /** Attached table. */
  file?: { name: string; text: string }
  /** Unchanged at a retry, so that mail programs show the message once. */
  id: string
  signal: AbortSignal
}

const LOOKUP_MS = 30_000
/** Limit for the greeting (RFC 5321 4.5.3.2): servers check senders and recipients meanwhile. */
const GREETING_MS = 5 * MINUTE_MS
/** Longest timeout that RFC 5321 4.5.3.2 names, for the response to the end of a message: servers scan it meanwhile. */
const STEP_MS = 10 * MINUTE_MS
/** Limit for a whole attempt. */
export const MAIL_MS = 20 * MINUTE_MS

export class Mailer {
  readonly #settings: MailSettings | undefined
  #transport: Promise<Transporter> | undefined

  constructor(settings: MailSettings | undefined) {
    this.#settings = settings
  }

  get isConfigured(): boolean {
    return this.#settings !== undefined
  }

  /**
   * Resolves when the server has accepted the message. Rejects with a readable reason, and with an `UnknownOutcome` if
   * the server received all of the message and did not respond.
   */
  async send({ to, subject, text, html, file, id, signal }: Mail): Promise<void> {
    const settings = this.#settings
    if (settings === undefined) throw new Error('no mail server is configured; set CARTBARN_SMTP_URL')
    this.#transport ??= openTransport(settings)
    const transport = await this.#transport
    // the last part is read once the server has requested the message, after DATA
    const message = new PassThrough()
    let isSent = false
    message.on('end', () => {
      isSent = true
    })
    message.end(file?.text ?? text)
    try {
      await transport.sendMail({
        from: settings.from,
        to: { name: '', address: to },
        subject,
        text: file === undefined ? message : text,
        html,
        attachments: file && [{ filename: file.name, contentType: 'text/csv; charset=utf-8', content: message }],
        signal,
        messageId: `<${id}@cartbarn>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
        // no file or URL is read for a message
        disableFileAccess: true,
        disableUrlAccess: true,
      })
    } catch (error) {
      const isAnswered = error instanceof Error && 'responseCode' in error && error.responseCode !== undefined
      throw isSent && !isAnswered ? new UnknownOutcome(describeError(error)) : error
    }
  }
}

/** Loaded on first use: most gateways send no e-mail. */
async function openTransport({ url }: MailSettings): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    url,
    pool: false,
    logger: false,
    // the wait for the greeting counts as part of the connection timeout
    dnsTimeout: LOOKUP_MS,
    connectionTimeout: GREETING_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: STEP_MS,
  })
}
