import type { Transporter } from 'nodemailer'

/** The mail server that takes e-mail for people; undefined settings mean that there is none. */
export interface MailSettings {
  /** smtp:// or smtps://, with user and password where it needs them. */
  url: string
  from: string
}

export interface Mail {
  to: string
  subject: string
  text: string
  /** The same at a retry, so that mail programs show it once. */
  id: string
  signal: AbortSignal
}

const STEP_MS = 10_000

/** Sends e-mail by SMTP. */
export class Mailer {
  readonly #settings: MailSettings | undefined
  #transport: Promise<Transporter> | undefined

  constructor(settings: MailSettings | undefined) {
    this.#settings = settings
  }

  get isConfigured(): boolean {
    return this.#settings !== undefined
  }

  /** Resolves when the server has taken it; rejects with what went wrong in words. */
  async send({ to, subject, text, id, signal }: Mail): Promise<void> {
    const settings = this.#settings
    if (settings === undefined) throw new Error('no mail server is set: CARTBARN_SMTP_URL')
    this.#transport ??= openTransport(settings)
    const transport = await this.#transport
    await transport.sendMail({
      ...{ from: settings.from, to: { name: '', address: to }, subject, text, signal },
      messageId: `<${id}@cartbarn>`,
      headers: { 'Auto-Submitted': 'auto-generated' },
      // what it sends is text; nothing is read for it
      ...{ disableFileAccess: true, disableUrlAccess: true },
    })
  }
}

/** Loaded when it is used first: most gateways send no e-mail. */
async function openTransport({ url }: MailSettings): Promise<Transporter> {
  const { createTransport } = await import('nodemailer')
  return createTransport({
    ...{ url, pool: false, logger: false },
    ...{ connectionTimeout: STEP_MS, greetingTimeout: STEP_MS, socketTimeout: STEP_MS, dnsTimeout: STEP_MS },
  })
}
