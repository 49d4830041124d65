import './gateway.css'
import { toHash } from '#dashboard/live/route.ts'
import { formatDay } from '#dashboard/texts/format.ts'
import { encryptionTexts } from '#dashboard/texts/gateway/encryption.ts'
import { ButtonLink } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Facts } from '#dashboard/ui/facts.tsx'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { AdminList } from '../more/admin-list.tsx'
import { QrCode } from '../more/qr-code.tsx'
import { useAdminList } from '../more/use-admin-list.ts'
import { useMoments } from './moments.ts'

const RELOAD_EVERY_MS = 10_000
type Tls = AnswerOf<'GET /tls'>

/** Encryption of the connections on the network: a page of More, which provides its title. */
export function EncryptionPage() {
  const { api } = useDashboard()
  const texts = encryptionTexts()
  const list = useAdminList(() => api.call('GET /tls'), RELOAD_EVERY_MS)
  return (
    <>
      <p>{texts.why}</p>
      <AdminList of={list}>
        {({ certificate, authority, plain_http }) => (
          <>
            {certificate === null ? <TurnOn /> : <Certificate certificate={certificate} authority={authority} />}
            {authority !== null && <Trust authority={authority} />}
            {certificate !== null && plain_http.open && <PlainUses uses={plain_http.used_by} />}
          </>
        )}
      </AdminList>
    </>
  )
}

function TurnOn() {
  const texts = encryptionTexts()
  return (
    <section class="panel">
      <h2>{texts.off}</h2>
      <p>{texts.offHow}</p>
      <pre class="command-line">cartbarn tls init</pre>
    </section>
  )
}

function Certificate({
  certificate,
  authority,
}: {
  certificate: NonNullable<Tls['certificate']>
  authority: Tls['authority']
}) {
  const { site } = useDashboard()
  const texts = encryptionTexts()
  const day = (at: string) => formatDay(Date.parse(at), site.value.time_zone)
  return (
    <section class="panel">
      <h2>{texts.on}</h2>
      <Facts
        of={[
          [texts.until, day(certificate.expires_at)],
          [texts.authorityUntil, authority === null ? null : day(authority.expires_at)],
        ]}
      />
      {certificate.detail !== undefined && (
        <p lang="en" dir="auto">
          {certificate.detail}
        </p>
      )}
    </section>
  )
}

/** Guide for a new tablet, and the fingerprint that its user compares. */
function Trust({ authority: { fingerprint, guide } }: { authority: NonNullable<Tls['authority']> }) {
  const texts = encryptionTexts()
  return (
    <section class="panel">
      <h2>{texts.trust}</h2>
      {guide === null ? (
        <p>{texts.closed}</p>
      ) : (
        <>
          <p>{texts.trustHow}</p>
          <QrCode text={guide} />
          <p class="address">
            <a href={guide}>{guide}</a>
          </p>
        </>
      )}
      <h3>{texts.fingerprint}</h3>
      <p class="address">{fingerprint}</p>
      <p class="row">
        <ButtonLink text={texts.certificate} href="/trust/cartbarn.crt" download />
        <ButtonLink text={texts.profile} href="/trust/cartbarn.mobileconfig" download />
      </p>
    </section>
  )
}

function PlainUses({ uses }: { uses: Tls['plain_http']['used_by'] }) {
  const texts = encryptionTexts()
  const moment = useMoments()
  return (
    <section class="panel">
      <h2>{texts.plain}</h2>
      <p>{texts.plainWhy}</p>
      {uses.length === 0 ? (
        <p>{texts.none}</p>
      ) : (
        <Facts
          of={uses.map(({ kind, id, name, address, last_at }) => [
            `${texts.kinds[kind]} ${name ?? id}`,
            `${moment(last_at)}, ${address}`,
          ])}
        />
      )}
      <ButtonLink text={texts.mqtt} href={toHash('more', 'mqtt')} />
    </section>
  )
}
