/** What needs somebody now. */
export function NeedsYou() {
  return (
    <section class="page">
      <h2>Needs you</h2>
    </section>
  )
}
