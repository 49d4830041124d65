export function CartCard({ cart, onClose }: { cart: string; onClose: () => void }) {
  return (
    <section class="page">
      <h2>Cart {cart}</h2>
      <button type="button" class="button" onClick={onClose}>
        Close
      </button>
    </section>
  )
}
