import { formatSpan } from '#dashboard/texts/format.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { TlsBanner } from '#dashboard/ui/tls-banner.tsx'

const AdminBanner = lazy(
  () => import('#dashboard/screens/more/admin-banner.tsx').then(({ AdminBanner }) => AdminBanner),
  () => null,
)

/** What every screen says at its top: the line is gone, the app is old, an admin is waited for. */
export function Banners() {
  const { me } = useDashboard()
  return (
    <>
      <LineBanner />
      <UpdateBanner />
      <TlsBanner />
      {me.value?.user.role === 'admin' && <AdminBanner />}
    </>
  )
}

/** One bar while the line is gone, and why if it is known; read out when it appears, but not each second anew. */
function LineBanner() {
  const { line, lostSecond, upgrade } = useDashboard()
  const texts = shellTexts()
  const { before, after } = texts.noContact
  const isLost = lostSecond.value >= 0 && line.state.value.kind === 'lost'
  const seen = upgrade.seen.value
  return (
    <div role="status">
      {isLost && seen === null && (
        <p class="line-banner">
          {before}
          <span aria-live="off">{formatSpan(line.silentForMs())}</span>
          {after}
        </p>
      )}
      {isLost && seen !== null && (
        <p class="line-banner">
          {texts.upgrading}{' '}
          {seen.step !== null && <span aria-live="off">{texts.upgradeStep(seen.step.number, seen.step.of)}</span>}
        </p>
      )}
    </div>
  )
}

/** A page that is older than its gateway goes on; whoever looks after it decides when. */
function UpdateBanner() {
  const { isUpdateReady, line } = useDashboard()
  const texts = shellTexts()
  if (!isUpdateReady.value || line.state.value.kind !== 'live') return null
  return (
    <div class="info-banner">
      {texts.update}
      <button type="button" class="button" onClick={() => location.reload()}>
        {texts.updateNow}
      </button>
    </div>
  )
}
