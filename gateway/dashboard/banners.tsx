import { formatSpan } from '#dashboard/texts/format.ts'
import { shellTexts } from '#dashboard/texts/shell.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { lazy } from '#dashboard/ui/lazy.tsx'
import { TlsBanner } from '#dashboard/ui/tls-banner.tsx'

const AdminBanner = lazy(
  () => import('#dashboard/screens/more/admin-banner.tsx').then(({ AdminBanner }) => AdminBanner),
  () => null,
)

/** Banners at the top of every screen: connection lost, app outdated, requests that wait for an admin. */
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

/** Banner while the connection is lost, with the reason if known. Screen readers announce it once, not each second. */
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

/** Banner of a page that is older than its gateway. The page keeps working; staff decide when to reload it. */
function UpdateBanner() {
  const { isUpdateReady, line } = useDashboard()
  const texts = shellTexts()
  if (!isUpdateReady.value || line.state.value.kind !== 'live') return null
  return (
    <div class="info-banner">
      {texts.update}
      <Button text={texts.updateNow} onClick={() => location.reload()} />
    </div>
  )
}
